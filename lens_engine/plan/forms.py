"""Forms of the prompt other than fixed demonstrations: which are tried, and on how many rows (see run/forms)."""

from collections.abc import Collection

from lens_engine.config import FormKind
from lens_engine.plan.rungs import Rung, plan_rungs
from lens_engine.retrieval.form import PromptForm

NEAREST = (4, 8, 16)
"""Numbers of nearest rows that are tried alone."""

NEAREST_AFTER_FIXED = (4, 8)
"""Numbers of nearest rows that are tried after the fixed demonstrations."""

_HALVINGS = 3


def list_forms(kinds: Collection[FormKind], num_pool_rows: int, num_demonstrations: int) -> tuple[PromptForm, ...]:
    """The forms of these kinds that a pool can fill, the plainest first; `fixed` is not among them.

    Args:
        num_demonstrations: number of fixed demonstrations.
    """
    most = num_pool_rows - num_demonstrations
    found = [PromptForm(kind="nearest", nearest=k) for k in NEAREST if "nearest" in kinds and k <= most]
    both = [PromptForm(kind="fixed+nearest", nearest=k) for k in NEAREST_AFTER_FIXED if "fixed+nearest" in kinds]
    return (*found, *(form for form in both if form.nearest <= most))


def count_demonstrations(form: PromptForm, num_demonstrations: int) -> int:
    """Number of demonstrations in a prompt of a form."""
    return form.nearest + num_demonstrations * (form.kind != "nearest")


def plan_form_rungs(num_forms: int, num_rows: int) -> list[Rung]:
    """The rungs of the halving among forms, the last of which judges one; none for no forms."""
    return plan_rungs(num_forms, num_rows, _HALVINGS, 1) if num_forms else []

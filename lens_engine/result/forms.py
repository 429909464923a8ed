"""How the prompt of a result finds its demonstrations, and which forms and wordings the run tried."""

from typing import TYPE_CHECKING, NamedTuple

from lens_engine.classifier.largest_class import say_largest_class
from lens_engine.result.parts import SupportExamples
from lens_engine.retrieval.form import PromptForm
from lens_engine.views.table import NOTHING, Table

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult  # has the tables

_FIGURES = ("accuracy", "macro-F1", "rows")


class ShownExamples(NamedTuple):
    """Fixed demonstrations that are shown."""

    answer: SupportExamples
    is_other: bool  #: whether they are the fixed form of a prompt whose best form is another


def list_shown(answer: SupportExamples) -> list[ShownExamples]:
    """The fixed demonstrations of a prompt, then those of its fixed form, if they are others."""
    if answer.fixed is None:
        return [ShownExamples(answer, is_other=False)]
    fixed = ShownExamples(answer.fixed, is_other=True)
    if answer.form.kind == "nearest":
        return [fixed]
    return [ShownExamples(answer, is_other=False), *([] if answer.rows == answer.fixed.rows else [fixed])]


def describe_retrieval(result: "SelectionResult", answer: SupportExamples) -> str:
    """How a prompt finds demonstrations for each input; nothing for a fixed form."""
    number = answer.form.nearest
    if not number:
        return ""
    rows = "similar rows of the pool" if result.pool is None else f"similar of {len(result.pool.rows):,} rows"
    found = f"the {number} most {rows}, nearest last"
    if answer.form.kind == "nearest":
        return f"For each input the prompt shows {found}."
    return f"The prompt shows the support examples, then for each input {found}."


def name_form(form: PromptForm) -> str:
    """A form in a few words."""
    if form.kind == "fixed":
        return "support examples"
    return f"{'support examples, then ' * (form.kind == 'fixed+nearest')}nearest {form.nearest} for each input"


def tabulate_forms(result: "SelectionResult") -> Table | None:
    """The forms that were tried beside fixed demonstrations, the best first; None without any."""
    if not result.forms:
        return None
    fixed = result.answer.plain
    own = (
        []
        if fixed.judged is None
        else [("fixed", *_show(fixed.judged.accuracy, fixed.judged.macro_f1, fixed.judged.n))]
    )
    rows = (*own, *((one.form.name, *_show(one.accuracy, one.macro_f1, one.n)) for one in result.forms))
    return Table(
        title="Forms of the prompt that were tried, on rows that are no test rows",
        header=("form", *_FIGURES),
        rows=rows,
        words=("form",),
        marked=frozenset(place for place, (name, *_) in enumerate(rows) if name == result.answer.form.name),
        caption=_caption("form", result),
    )


def tabulate_wordings(result: "SelectionResult") -> Table | None:
    """The templates and instructions that were tried, the chosen one first; None for one."""
    if not result.wordings:
        return None
    return Table(
        title="Templates and instructions that were tried, by random prompts",
        header=("template", "instruction", *_FIGURES),
        rows=tuple(
            (one.template, one.instruction or NOTHING, *_show(one.accuracy, one.macro_f1, one.n))
            for one in result.wordings
        ),
        words=("template", "instruction"),
        marked=frozenset({0}),
        caption=_caption("wording", result),
    )


def _show(accuracy: float, macro_f1: float | None, n: int) -> tuple[str, str, str]:
    return f"{accuracy:.3f}", NOTHING if macro_f1 is None else f"{macro_f1:.3f}", f"{n:,}"


def _caption(what: str, result: "SelectionResult") -> str:
    """The labels are in proportion on any number of rows, so that one share of the largest class stands for all."""
    return "; ".join([f"fewer rows: the {what} was dropped", *say_largest_class(result.answer.plain.judged)])

"""The rows of the paper's table: the paper's methods, and LENS as others describe it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.experiments.datasets import TaskSettings
from lab.experiments.sizes import Size
from lab.rivals.coresets import METHODS
from lens_engine.config import SearchOptions, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.metering.prices import plan_search
from lens_engine.presets import overlay_options, resolve_config

LENS, RIVAL = "lens", "random_and_validation"

NUM_RANDOM = 10
"""Random permutations whose mean is the figure of "random"."""

_NAMES = {
    "k_center": "k-center greedy",
    "cal": "CAL",
    "grand": "GraNd",
    "craig": "CRAIG",
    "grad_match": "GradMatch",
    "glister": "Glister",
}
"""Coreset methods whose name in the table is not their key in words."""


@dataclass(frozen=True)
class Entry:
    """A row of the table: a name, what chooses its prompts, and the options of its selections."""

    name: str
    chooser: str = LENS  #: or `RIVAL`, "zero_shot", "random", a coreset method
    options: Mapping[str, Any] = field(default_factory=dict)
    starts_narrow: bool = False  #: whether the search starts with B optimised permutations, as Algorithm 2 does
    drawn: int | None = None  #: permutations of `RIVAL`; None for as many as cost as much as LENS
    sums_similarity: bool = False  #: whether lambda weighs the sum over the other demonstrations, not their mean

    def config(self, size: Size, settings: TaskSettings, seed: int) -> SelectionConfig:
        """The configuration of this entry on a dataset.

        Raises:
            InvalidConfig: as `Size.config`.
        """
        config = resolve_config(options=overlay_options(size.config(settings).model_dump(), self.options))
        search: dict[str, Any] = {}
        if self.sums_similarity:
            search["diversity_weight"] = config.search.diversity_weight * (config.num_demonstrations - 1)
        if self.starts_narrow:
            search |= _narrow(config.search, config.search.validation)
        return resolve_config(options=overlay_options(config.model_dump(), {"search": search, "seed": seed}))


def make_entries(many_rows: tuple[int, int]) -> dict[str, Entry]:
    """Every entry by its key, in the order of the paper's table, LENS last. `many_rows` is that of the size."""
    rows, permutations = many_rows
    many = {"search": {"validation": rows}}
    letter = {"filtering": {"contribution": "vocabulary"}, "search": {"is_apart": True}}
    return {
        "zero_shot": Entry("zero-shot", "zero_shot"),
        "random": Entry(f"random, mean of {NUM_RANDOM}", "random"),
        RIVAL: Entry("random & validation, equal budget", RIVAL),
        f"{RIVAL}_many_rows": Entry(
            f"random & validation, {rows} rows × {permutations}", RIVAL, many, drawn=permutations
        ),
        **{method: Entry(_NAMES.get(method, method.replace("_", " ")), method) for method in METHODS},
        "lens_letter": Entry("LENS, by the paper's letter", options=letter, starts_narrow=True, sums_similarity=True),
        "lens_narrow": Entry("LENS, started narrow", starts_narrow=True),
        LENS: Entry("LENS"),
    }


def _narrow(search: SearchOptions, num_rows: int) -> dict[str, Any]:
    """The options of the paper's Algorithm 2, with the number of iterations that costs as much as `search`."""
    evaluations = sum(rung.pairs for rung in plan_search(search, num_rows)) / num_rows
    iterations = round((evaluations - search.beam_width) / max(search.num_children, 1))
    return {"first_permutations": None, "halvings": 0, "iterations": iterations}


def pick_entries(size: Size, keys: tuple[str, ...]) -> tuple[Entry, ...]:
    """The entries of these keys; all, if there are none.

    Raises:
        InvalidConfig: a key is unknown.
    """
    known = make_entries(size.many_rows)
    for key in keys:
        if key not in known:
            raise InvalidConfig(f"{key!r} is not one of {', '.join(known)}", field="methods")
    return tuple(known[key] for key in dict.fromkeys(keys or known))

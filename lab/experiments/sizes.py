"""The sizes of the paper's table: the paper's, and one for a laptop."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lab.experiments.datasets import FindDataset, TaskSettings
from lab.paper_tasks import PAPER_TASKS
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.presets import overlay_options, resolve_config

_LEAN: dict[str, Any] = {"rows": {"judging": 10}}
"""A figure is that of a search alone, so no row judges what it finds."""


class Bench(NamedTuple):
    """A dataset in a template, and the seed of splits and search."""

    dataset: str
    template: str
    seed: int


@dataclass(frozen=True)
class Size:
    """Model, datasets, templates and seeds of a table, and the options that all its selections share."""

    note: str  #: sentence on this size, for the page
    model: str  #: as for `lens select --model`
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    preset: PresetName
    many_rows: tuple[int, int]  #: rows and permutations of random-and-validation on many rows
    templates: tuple[int, ...] = (0,)  #: indices into a dataset's list of templates
    options: dict[str, Any] = field(default_factory=dict)  #: laid over the preset
    keeps_rho: bool = False  #: whether rho and l are the paper's for each dataset
    dtype: str = "auto"

    def config(self, settings: TaskSettings) -> SelectionConfig:
        """The options of the preset, of this size, and of the dataset; each overrides those before it.

        Raises:
            InvalidConfig: an option is unknown, out of range, or in conflict with another.
        """
        options: dict[str, Any] = {"num_demonstrations": settings.num_demonstrations, "balanced": settings.balanced}
        if self.keeps_rho and settings.rho is not None and settings.initial_score_size is not None:
            options["filtering"] = {"rho": settings.rho, "initial_score_size": settings.initial_score_size}
        return resolve_config(self.preset, overlay_options(overlay_options(_LEAN, self.options), options))

    def benches(self, find_dataset: FindDataset) -> list[Bench]:
        """A bench for every seed, dataset and template, seed by seed, so that each finished seed is a small table.

        Raises:
            InvalidDataset: as `find_dataset`.
            InvalidConfig: a dataset has fewer templates.
        """
        return [
            Bench(name, find_dataset(name).settings.templates[place], seed)
            for seed in self.seeds
            for name in self.datasets
            for place in self._check_templates(name, len(find_dataset(name).settings.templates))
        ]

    def _check_templates(self, dataset: str, count: int) -> tuple[int, ...]:
        last = max(self.templates)
        if last >= count:
            raise InvalidConfig(
                f"{dataset} has {count} templates, counted from 0; there is no {last}", field="templates"
            )
        return self.templates


PAPER = Size(
    note="The size of the paper: all of a dataset's rows are candidates (30,000 at most, as its l for the large "
    "datasets implies), and all test rows are judged. Texts that might not fit the model's context are cut.",
    model="openai-community/gpt2-large",
    datasets=tuple(PAPER_TASKS),
    templates=(0, 1, 2, 3),
    seeds=tuple(range(10)),
    preset="paper",
    options={
        "filtering": {"candidates": 30_000},
        # The rows with `starts_narrow` restrict this search.
        "search": {**resolve_config("standard").search.model_dump(), "is_apart": True},
    },
    keeps_rho=True,
    many_rows=(1000, 100),
)
LAPTOP = Size(
    note="A size for two processor cores and a small model, not the paper's.",
    model=BUNDLED_MODEL,
    datasets=("sst-2", "sst-5", "trec"),
    seeds=(0, 1, 2),
    preset="quick",
    options={
        "rows": {"test": 200},
        "filtering": {"candidates": 192, "initial_score_size": 14, "max_score_size": 28},
        "search": {"first_permutations": 112, "halvings": 3, "iterations": 3},
    },
    many_rows=(200, 20),
)
SIZES = {"laptop": LAPTOP, "paper": PAPER}

"""The size of an experiment: the paper's, one for a laptop, and one for tests."""

from typing import Any

from pydantic import Field

from lab.experiments.data.tasks import Dataset, FindDataset, TaskSettings
from lab.experiments.laboratory.cells import Bench, SelectionCell
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.presets import overlay_options, resolve_config
from lens_engine.task.paper_tasks import PAPER_TASKS
from lens_engine.types import Record

LEAN: dict[str, Any] = {"classifier": {"kind": "none"}, "comparisons": "none"}
"""A cell then costs its selection and one pass over the test rows."""


class Scale(Record):
    """Model, datasets, templates and seeds of an experiment, and the options that all its selections share."""

    name: str
    note: str = Field(description="Sentence on this size, for the page.")
    model: str
    datasets: tuple[str, ...] = Field(min_length=1)
    templates: tuple[int, ...] = Field((0,), min_length=1, description="Indices into a dataset's list of templates.")
    seeds: tuple[int, ...] = Field(min_length=1)
    preset: PresetName = Field(description="Preset of the engine.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options laid over the preset.")
    keeps_rho: bool = Field(False, description="Whether rho and l are the paper's for each dataset.")
    many_rows: tuple[int, int] = Field(description="Rows and permutations of random-and-validation on many rows.")
    dtype: str = "auto"

    def config(self, settings: TaskSettings) -> SelectionConfig:
        """The options of the preset, of this scale, and of the dataset; each overrides those before it.

        Raises:
            InvalidConfig: an option is unknown, out of range, or in conflict with another.
        """
        options: dict[str, Any] = {"num_demonstrations": settings.num_demonstrations, "balanced": settings.balanced}
        if self.keeps_rho and settings.rho is not None and settings.initial_score_size is not None:
            options["filtering"] = {"rho": settings.rho, "initial_score_size": settings.initial_score_size}
        return resolve_config(self.preset, overlay_options(self.options, options))

    def benches(self, find_dataset: FindDataset) -> list[Bench]:
        """A bench for every seed, dataset and template, seed by seed, so that each finished seed is a small table.

        Raises:
            InvalidDataset: as `find_dataset`.
            InvalidConfig: a dataset has fewer templates.
        """
        return [
            Bench(model=self.model, dataset=name, template=pattern, seed=seed, dtype=self.dtype)
            for seed in self.seeds
            for name in self.datasets
            for pattern in self._patterns(find_dataset(name))
        ]

    def selections(self, find_dataset: FindDataset) -> list[SelectionCell]:
        """One selection on each bench.

        Raises:
            InvalidDataset, InvalidConfig: as `benches` and `config`.
        """
        return [
            bench.selection(self.config(find_dataset(bench.dataset).settings)) for bench in self.benches(find_dataset)
        ]

    def _patterns(self, dataset: Dataset) -> list[str]:
        known, last = dataset.settings.templates, max(self.templates)
        if last >= len(known):
            raise InvalidConfig(
                f"{dataset.name} has {len(known)} templates, counted from 0; there is no {last}", field="templates"
            )
        return [known[place] for place in self.templates]


PAPER = Scale(
    name="paper",
    note="The size of the paper: all of a dataset's rows are candidates (30,000 at most, as its l for the large "
    "datasets implies), and all test rows are judged. Texts that might not fit the model's context are left out.",
    model="openai-community/gpt2-large",
    datasets=tuple(PAPER_TASKS),
    templates=(0, 1, 2, 3),
    seeds=tuple(range(10)),
    preset="paper",
    options=overlay_options(
        LEAN,
        {
            "filtering": {"candidates": 30_000},
            # The rows with `starts_narrow` restrict this search.
            "search": resolve_config("standard").search.model_dump(),
            "too_long": "skip_example",
        },
    ),
    keeps_rho=True,
    many_rows=(1000, 100),
)
LAPTOP = Scale(
    name="laptop",
    note="A size for two processor cores and a small model, not the paper's.",
    model=BUNDLED_MODEL,
    datasets=("sst-2", "sst-5", "trec"),
    seeds=(0, 1, 2),
    preset="quick",
    options=overlay_options(
        LEAN,
        {
            "splits": {"test": 200},
            "filtering": {"candidates": 192, "initial_score_size": 14, "max_score_size": 28},
            "search": {"first_permutations": 112, "halvings": 3, "iterations": 3},
        },
    ),
    many_rows=(200, 20),
)
TINY = Scale(
    name="tiny",
    note="A size that shows whether the commands work, and nothing about the methods.",
    model=BUNDLED_MODEL,
    datasets=("sst-2",),
    seeds=(0,),
    preset="quick",
    options=overlay_options(
        LEAN,
        {
            "splits": {"validation": 8, "confirmation": 8, "test": 20},
            "filtering": {"candidates": 24, "keep": 16, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
            "search": {"beam_width": 2, "children": 2, "iterations": 1, "first_permutations": 6, "halvings": 1},
        },
    ),
    many_rows=(12, 4),
)
SCALES = {scale.name: scale for scale in (LAPTOP, PAPER, TINY)}

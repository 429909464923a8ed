"""How large an experiment is: the paper's size, one for a laptop, and one for tests."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from experiments.data.tasks import Dataset, TaskSettings
from experiments.laboratory.cells import Bench, SelectionCell
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.presets import resolve_config
from lens_engine.result import Record
from lens_engine.task.paper_tasks import PAPER_TASKS

FindDataset = Callable[[str], Dataset]

LEAN: dict[str, Any] = {"report": {"random_permutations": 0, "random_and_validation": False, "order_shuffles": 0}}
"""A cell costs its selection and one pass over the test rows."""


class Scale(Record):
    """Model, datasets, templates and seeds of an experiment, and the options that all its selections share."""

    name: str
    note: str = Field(description="A sentence on what this size is, for the page.")
    model: str
    datasets: tuple[str, ...] = Field(min_length=1)
    templates: tuple[int, ...] = Field((0,), min_length=1, description="Places in a dataset's list, from 0.")
    seeds: tuple[int, ...] = Field(min_length=1)
    preset: PresetName = Field(description="Of the engine; its options are the ground.")
    options: dict[str, Any] = Field(default_factory=dict, description="Laid over the preset.")
    keeps_rho: bool = Field(False, description="Whether rho and l are the paper's for each dataset.")
    many_rows: tuple[int, int] = Field(description="Rows and permutations of random-and-validation on many rows.")
    dtype: str = "auto"

    def config(self, settings: TaskSettings, options: Mapping[str, Any] | None = None) -> SelectionConfig:
        """The preset, under this scale's options, under the dataset's, under `options`.

        Raises:
            InvalidConfig: an option is unknown, out of range, or in conflict with another.
        """
        return resolve_config(self.preset, overlay(self.options, self._of_task(settings), options or {}))

    def benches(self, find_dataset: FindDataset) -> list[Bench]:
        """Every seed, dataset and template; the seeds one after the other, so that each is a whole small table.

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

    def selections(self, find_dataset: FindDataset, options: Mapping[str, Any] | None = None) -> list[SelectionCell]:
        """One selection on each bench, with `options` laid over all.

        Raises:
            InvalidDataset, InvalidConfig: as `benches` and `config`.
        """
        return [
            bench.selection(self.config(find_dataset(bench.dataset).settings, options))
            for bench in self.benches(find_dataset)
        ]

    def _of_task(self, settings: TaskSettings) -> dict[str, Any]:
        options: dict[str, Any] = {
            "num_demonstrations": settings.num_demonstrations,
            "balanced": settings.balanced,
        }
        if self.keeps_rho and settings.rho is not None and settings.initial_score_size is not None:
            options["filtering"] = {"rho": settings.rho, "initial_score_size": settings.initial_score_size}
        return options

    def _patterns(self, dataset: Dataset) -> list[str]:
        if max(self.templates) >= len(dataset.templates):
            raise InvalidConfig(
                f"{dataset.name} has {len(dataset.templates)} templates, counted from 0; there is no "
                f"{max(self.templates)}",
                field="templates",
            )
        return [dataset.templates[place] for place in self.templates]


def overlay(*trees: Mapping[str, Any]) -> dict[str, Any]:
    """One tree of options out of several; the later wins, group by group."""
    merged: dict[str, Any] = {}
    for tree in trees:
        for name, value in tree.items():
            below = merged.get(name)
            merged[name] = overlay(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return merged


PAPER = Scale(
    name="paper",
    note="The size of the paper: all of a dataset's rows are candidates (30,000 at most, as its l for the large "
    "datasets implies), and all test rows are judged. Texts that might not fit the model's context are left out.",
    model="openai-community/gpt2-large",
    datasets=tuple(PAPER_TASKS),
    templates=(0, 1, 2, 3),
    seeds=tuple(range(10)),
    preset="paper",
    options=overlay(
        LEAN,
        {
            "filtering": {"candidates": 30_000},
            "search": resolve_config("standard").search.model_dump(),  # the rows for the paper's search narrow it
            "too_long": "skip_example",
        },
    ),
    keeps_rho=True,
    many_rows=(1000, 100),
)
LAPTOP = Scale(
    name="laptop",
    note="A size for two processor cores and a small model, not the paper's.",
    model="smollm2-135m-instruct",
    datasets=("sst-2", "sst-5", "trec"),
    seeds=(0, 1, 2),
    preset="quick",
    options=overlay(
        LEAN,
        {
            "splits": {"test": 200},
            "filtering": {"candidates": 192, "initial_score_size": 14, "max_score_size": 28},
        },
    ),
    many_rows=(200, 20),
)
TINY = Scale(
    name="tiny",
    note="A size that shows whether the commands work, and nothing about the methods.",
    model="smollm2-135m-instruct",
    datasets=("sst-2",),
    seeds=(0,),
    preset="quick",
    options=overlay(
        LEAN,
        {
            "splits": {"validation": 8, "confirmation": 8, "test": 20},
            "filtering": {"candidates": 24, "keep": 16, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
            "search": {
                "beam_width": 2,
                "substitutions": 1,
                "reorderings": 1,
                "iterations": 1,
                "first_permutations": 6,
                "halvings": 1,
            },
        },
    ),
    many_rows=(12, 4),
)
SCALES = {scale.name: scale for scale in (LAPTOP, PAPER, TINY)}

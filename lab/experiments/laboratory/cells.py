"""A cell: everything that decides one figure of a table, and its key.

The store holds the outcomes of cells: two tables with the same cell share its outcome.
"""

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from lab.rivals.names import CoresetConfig
from lens_engine import __version__
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import SelectionConfig
from lens_engine.types import Example, Record


class Demonstration(Record):
    """A labelled text in a prompt. The label may differ from the gold label."""

    text: str
    label: str

    def as_example(self) -> Example:
        return Example(-1, self.text, self.label)


class Bench(Record):
    """A model on a dataset with a template, and the seed of splits and search."""

    model: str = Field(description="Model reference, as for `lens select --model`.")
    dataset: str = Field(description="Name of the dataset.")
    template: str = Field(description="Pattern of the template.")
    seed: int = Field(ge=0)
    dtype: str = "auto"
    test_rows: Literal["file", "held_out"] = Field(
        "file", description="Test rows: the dataset's own, or rows held out of its training rows."
    )

    def selection(self, config: SelectionConfig) -> "SelectionCell":
        """The cell of a whole selection on this bench; its seed takes the place of the configuration's."""
        return SelectionCell(bench=self, config=config.model_copy(update={"seed": self.seed}))

    def evaluation(self, config: SelectionConfig, demonstrations: tuple[Demonstration, ...]) -> "EvaluationCell":
        """The cell of one prompt on the test rows of the splits of `config`, with this bench's seed."""
        seeded = config.model_copy(update={"seed": self.seed})
        return EvaluationCell(bench=self, config=seeded, demonstrations=demonstrations)


class _Cell(Record):
    bench: Bench
    config: SelectionConfig  #: with the seed of the bench

    def key(self, dataset_sha256: str) -> str:
        """SHA-256 of the options that affect the cell, the dataset's rows and label words, and the version of Lens.

        Equal keys mean equal figures on one machine. A model is identified by its reference. Options that do not
        affect the outcome are left out, so that changing a LENS option does not invalidate cached rivals.
        """
        decisive = self._decisive()
        cell = self.model_dump(mode="json") | {"config": decisive}
        content: dict[str, Any] = {"lens": __version__, "dataset": dataset_sha256, "cell": cell}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _decisive(self) -> dict[str, Any]:
        """The options that affect the outcome."""
        return self.config.model_dump(
            mode="json", exclude={"method", "search", "classifier", "random_search", "comparisons"}
        )


class SelectionCell(_Cell):
    """One run of a method: its outcome is a `SelectionResult`."""

    kind: Literal["selection"] = "selection"
    config: CoresetConfig | SelectionConfig

    def _decisive(self) -> dict[str, Any]:
        config = self.config
        if config.method == "lens":
            return config.model_dump(mode="json", exclude={"random_search"})
        if config.method == "random_and_validation" and not config.random_search.permutations:
            return config.model_dump(mode="json")  # it costs what LENS does
        unused = {"search"} if config.method == "random_and_validation" else {"search", "random_search"}
        options = config.model_dump(mode="json", exclude=unused)
        options["filtering"] = config.filtering.model_dump(mode="json", exclude={"contribution"})
        return options


class EvaluationCell(_Cell):
    """One prompt on the test rows: its outcome is a `CalibratedAccuracy`. Of the configuration only splits, seed and
    context policy matter."""

    kind: Literal["evaluation"] = "evaluation"
    demonstrations: tuple[Demonstration, ...]


class CalibratedAccuracy(Accuracy):
    """The accuracy of a prompt, as it is and after contextual calibration."""

    calibrated_accuracy: float


Cell = SelectionCell | EvaluationCell

"""What the analyses share: a question, the selections it is asked of, sizes by scale, and the way to a finding."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from experiments.analyses.captions import datasets_of, describe_cells, describe_rows
from experiments.findings.finding import Finding, Table
from experiments.findings.spreads import SPREAD_COLUMNS, spread_values
from experiments.laboratory.cells import CalibratedAccuracy, SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.scales import Scale
from lens_engine.classifier.quality import Accuracy

FoundT = TypeVar("FoundT")

ByScale = Mapping[str, Mapping[str, Any]]
"""Values by name, for each scale by its name."""

SMALL = (
    "A size for two processor cores and a small model, not the paper's: few candidates, seeds and test rows. It shows "
    "how the question is asked, more than it answers it."
)
FOUR_SEEDS = {"templates": (0,), "seeds": (0, 1, 2, 3)}


@dataclass(frozen=True)
class Analysis(ABC, Generic[FoundT]):
    """One question about selections of LENS. The fields of a subclass are its sizes: how many of each thing it takes.

    The selections are cells of the main table. `scales` holds what differs from the table's scale, `sizes` what
    differs from the fields' defaults; both are keyed by the name of a scale, and a scale may be missing.
    """

    selections: tuple[SelectionCell, ...]

    name: ClassVar[str]
    question: ClassVar[str]
    caveat: ClassVar[str] = ""  #: a sentence after the one on the uncertainty of an accuracy
    scales: ClassVar[ByScale] = {}
    sizes: ClassVar[ByScale] = {}

    @classmethod
    def narrow(cls, scale: Scale) -> Scale:
        """The scale at which this analysis is run by default."""
        return scale.model_copy(update=dict(cls.scales.get(scale.name, {})))

    @classmethod
    def perform(cls, lab: Laboratory, scale: Scale, **sizes: Any) -> Finding:
        """Run on the selections of `scale`, which may differ from `narrow(scale)`; `sizes` override those of the scale.

        Raises:
            LensError: as `run`; `InvalidDataset`, `InvalidConfig`: as `Scale.selections`, or a size is unusable.
        """
        selections = tuple(scale.selections(lab.find_dataset))
        finding = cls(selections, **{**cls.sizes.get(scale.name, {}), **sizes}).run(lab)
        return replace(finding, notes=(*finding.notes, scale.note))

    def run(self, lab: Laboratory) -> Finding:
        """Compute every cell and show the results.

        Raises:
            LensError: as `Laboratory.select` and `Laboratory.evaluate`.
        """
        found = self.compute(lab)
        uncertainty = describe_rows(self.accuracies(found))
        return Finding(
            name=self.name,
            title=self.question,
            tables=self.tables(found),
            notes=(self.describe(found), f"{uncertainty} {self.caveat}".strip()),
        )

    @property
    def by_dataset(self) -> dict[str, list[SelectionCell]]:
        """The selections of each dataset."""
        return datasets_of(self.selections)

    @property
    def origin(self) -> str:
        """A sentence on the selections, for the first note."""
        return f"Support examples found with {describe_cells(self.selections)}."

    @abstractmethod
    def compute(self, lab: Laboratory) -> FoundT:
        """Fetch or compute every cell."""

    @abstractmethod
    def accuracies(self, found: FoundT) -> Sequence[Accuracy]:
        """Every accuracy that is shown."""

    @abstractmethod
    def tables(self, found: FoundT) -> tuple[Table, ...]: ...

    @abstractmethod
    def describe(self, found: FoundT) -> str:
        """The first note: what was run, and how to read the tables."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts of one kind on one dataset, over all its seeds."""

    dataset: str
    key: tuple[str, ...]  #: cells of the table that name the kind
    accuracies: tuple[CalibratedAccuracy, ...]


class Comparison(Analysis[list[Prompts]]):
    """An analysis that compares kinds of prompts: a table row for each kind."""

    key_columns: ClassVar[tuple[str, ...]]

    def accuracies(self, found: list[Prompts]) -> list[CalibratedAccuracy]:
        return [accuracy for one in found for accuracy in one.accuracies]

    def tables(self, found: list[Prompts]) -> tuple[Table, ...]:
        rows = tuple((one.dataset, *one.key, *spread_values(one.accuracies)) for one in found)
        return (Table(("dataset", *self.key_columns, *SPREAD_COLUMNS), rows),)

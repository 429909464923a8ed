"""Types that every module shares."""

from dataclasses import dataclass
from enum import StrEnum

from numpy import float32, float64, intp
from numpy.typing import NDArray

LabelLogProbs = NDArray[float32]
"""`label_log_probs  # [prefixes, queries, labels]`, natural log, joint over a label word's tokens."""

Permutation = tuple[int, ...]
"""Ordered demonstrations, as indices into a list of examples: the candidates, or the survivors of filtering."""

FloatArray = NDArray[float64]
IndexArray = NDArray[intp]


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text; `row` is its index among the data rows of the upload, from 0."""

    row: int
    text: str
    label: str


class Phase(StrEnum):
    """The phases of a selection, in order."""

    FINE_TUNE = "fine_tune"  #: coreset methods only: training the model on the candidates
    FILTER = "filter"  #: stage 1, progressive filtering by InfoScore
    INITIALISE = "initialise"  #: judging the first permutations of the beam
    SEARCH = "search"  #: stage 2, diversity-guided beam search; for random-and-validation, random search
    EVALUATE = "evaluate"  #: judging on confirmation and test rows, with the baselines


class StopReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    BUDGET = "budget"
    CANCELLED = "cancelled"

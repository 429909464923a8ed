"""The nouns every module shares; no behaviour beyond what the words mean."""

from dataclasses import dataclass
from enum import StrEnum

from numpy import float32, float64, intp
from numpy.typing import NDArray

LabelLogProbs = NDArray[float32]
"""`label_log_probs  # [prefixes, queries, labels]`, natural log, joint over a label word's tokens."""

Permutation = tuple[int, ...]
"""Ordered demonstrations, each by its index among the examples at hand: candidates, or survivors of filtering."""

FloatArray = NDArray[float64]
IndexArray = NDArray[intp]


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text; `row` is its index among the data rows of the upload, from 0."""

    row: int
    text: str
    label: str


class Phase(StrEnum):
    """Where a selection is."""

    FINE_TUNE = "fine_tune"  #: coreset methods only: the model is trained on the candidates
    FILTER = "filter"  #: stage 1, progressive filtering by InfoScore
    INITIALISE = "initialise"  #: first permutations of the beam
    SEARCH = "search"  #: stage 2, diversity-guided beam search; or random search
    EVALUATE = "evaluate"  #: confirmation, test rows and baselines


class StopReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    BUDGET = "budget"
    CANCELLED = "cancelled"

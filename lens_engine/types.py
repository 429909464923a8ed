"""Types that every module shares."""

import base64
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy import float32, float64, intp
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

LabelLogProbs = NDArray[float32]
"""`label_log_probs  # [prefixes, queries, labels]`, natural log, joint over a label word's tokens."""

States = NDArray[float32]
"""`states  # [layers, poolings, queries, size]`: outputs of decoder layers as they are, before the final norm."""

Pooling = Literal["last", "mean"]
POOLINGS: tuple[Pooling, ...] = ("last", "mean")
"""The poolings of `States`, in their order: the state of a query's last token, and the mean over the query's tokens."""

FormatName = Literal[
    "json", "text", "jsonl", "csv", "openai-chat", "anthropic", "gemini", "langchain", "dspy", "promptfoo", "markdown"
]
"""Formats of exports of one file."""

HeadlineKind = Literal["classifier", "words", "prompt"]
"""What a run may recommend: a classifier that reads a model, word counting, or a prompt."""

Permutation = tuple[int, ...]
"""Ordered demonstrations, as indices into a list of examples: the candidates, or the survivors of filtering."""

FloatArray = NDArray[float64]
IndexArray = NDArray[intp]


class Record(BaseModel):
    """Base of stored and published values: frozen, without unknown fields, without NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StoredLogProbs(Record):
    """An array of label log-probabilities, as a checkpoint stores it within JSON."""

    shape: tuple[int, ...]
    values: str  #: base64 of the float32 values, little-endian

    @classmethod
    def of(cls, label_log_probs: LabelLogProbs) -> "StoredLogProbs":
        values = np.ascontiguousarray(label_log_probs, dtype="<f4")
        return cls(shape=values.shape, values=base64.b64encode(values.tobytes()).decode())

    @property
    def array(self) -> LabelLogProbs:
        return np.frombuffer(base64.b64decode(self.values), dtype="<f4").reshape(self.shape).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text; `row` is its index among the data rows of the upload, from 0."""

    row: int
    text: str
    label: str
    line: int | None = field(default=None, compare=False, repr=False)
    """Line of the file on which the row begins, from 1; None if unknown. Only messages depend on it."""

    @property
    def place(self) -> str:
        """The line of the file, or else the row, for a message."""
        return name_place(self.row, self.line)


def name_place(row: int, line: int | None) -> str:
    """The line of a file, or else the row, for a message: both are counted from 1 there."""
    return f"row {row + 1}" if line is None else f"line {line}"


class Phase(StrEnum):
    """The phases of a selection, in order."""

    FILTER = "filter"  #: LENS, stage 1: progressive filtering by InfoScore
    SEARCH = "search"  #: LENS, stage 2: diversity-guided beam search
    JUDGE = "judge"  #: judging every prompt on the judging rows
    FIT = "fit"  #: fitting the classifiers that read the model
    TEST = "test"  #: asking what was chosen for the test rows


class StopReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    BUDGET = "budget"
    CANCELLED = "cancelled"

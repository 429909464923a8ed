"""What the engine refuses, and why.

    LensError
    ├── InvalidInput            the caller can mend it; `field` says where
    │   ├── InvalidDataset
    │   │   └── ClassTooSmall
    │   ├── InvalidTemplate
    │   ├── InvalidVerbalizer
    │   ├── InvalidConfig
    │   └── PromptTooLong
    ├── ModelError
    │   ├── UnknownModel
    │   ├── UnsafeModel
    │   ├── NonFiniteScore
    │   └── OutOfMemory
    ├── CheckpointError
    │   ├── CheckpointDamaged
    │   └── CheckpointForeign
    └── NothingSelected         stopped before there was a permutation to keep

Every error carries a stable `code` that the service repeats to its clients.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self


class LensError(Exception):
    """The engine could not do what was asked."""

    code: ClassVar[str] = "lens-error"

    def __reduce__(self) -> tuple[Any, ...]:
        """An error of another process arrives as itself; Exception's own way would drop keyword arguments."""
        return type(self)._restore, (self.args, self.__dict__)

    @classmethod
    def _restore(cls, args: tuple[Any, ...], state: dict[str, Any]) -> Self:
        error = cls.__new__(cls, *args)
        error.__dict__.update(state)
        return error


class InvalidInput(LensError):
    """Something the caller gave is wrong.

    `field` is the path of the offending value, in the words of the public API (for example
    `verbalizer.positive` or `options.search.beam_width`); `row` is the example's index in the
    upload, when one row is to blame.
    """

    code = "invalid-input"

    def __init__(self, message: str, *, field: str, row: int | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.row = row


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What is wrong with one row of an upload, in a sentence that stands alone."""

    row: int
    field: str
    detail: str


class InvalidDataset(InvalidInput):
    """The labelled examples cannot be used as they are.

    `problems` holds one entry for each of the first bad rows, when rows are to blame.
    """

    code = "invalid-dataset"

    def __init__(
        self, message: str, *, field: str, row: int | None = None, problems: tuple[RowProblem, ...] = ()
    ) -> None:
        super().__init__(message, field=field, row=row)
        self.problems = problems


class ClassTooSmall(InvalidDataset):
    """A label has too few examples for its quota or for the splits."""

    code = "class-too-small"


class InvalidTemplate(InvalidInput):
    """The template lacks a slot, repeats one, or holds something that is not a slot."""

    code = "invalid-template"


class InvalidVerbalizer(InvalidInput):
    """The label words are missing, empty, or not distinguishable."""

    code = "invalid-verbalizer"


class InvalidConfig(InvalidInput):
    """An option is out of range, unknown, or in conflict with another."""

    code = "invalid-options"


class PromptTooLong(InvalidInput):
    """A prompt would not fit the model's context, and the policy is to reject."""

    code = "prompt-too-long"


class ModelError(LensError):
    """The language model could not be loaded or gave unusable numbers."""

    code = "model-error"


class UnknownModel(ModelError):
    """No model of this name is to be had."""

    code = "unknown-model"


class UnsafeModel(ModelError):
    """The model's files could run code when loaded (pickle weights, remote code)."""

    code = "unsafe-model"


class NonFiniteScore(ModelError):
    """The model returned NaN or an infinity for a label word."""

    code = "non-finite"


class OutOfMemory(ModelError):
    """The device has too little memory even for the smallest batch."""

    code = "out-of-memory"


class CheckpointError(LensError):
    """A checkpoint cannot be resumed from; starting afresh is safe."""

    code = "checkpoint-error"


class CheckpointDamaged(CheckpointError):
    """The checkpoint's bytes do not match their own digest."""

    code = "checkpoint-damaged"


class CheckpointForeign(CheckpointError):
    """The checkpoint belongs to other data, options, model or engine version."""

    code = "checkpoint-foreign"


class NothingSelected(LensError):
    """The run was stopped before a first permutation existed."""

    code = "nothing-selected"

    def __init__(self, message: str, *, stop_reason: str) -> None:
        super().__init__(message)
        self.stop_reason = stop_reason

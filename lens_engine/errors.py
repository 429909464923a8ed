"""What the engine refuses, and why.

Every error carries a stable `code` that the service repeats to its clients.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

_MAX_LISTED = 20
"""Largest number of faults that one error lists."""


class LensError(Exception):
    """Base class of every error that the engine raises."""

    code: ClassVar[str] = "lens-error"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with its keyword arguments, which Exception's own `__reduce__` would drop."""
        return type(self)._restore, (self.args, self.__dict__)

    @classmethod
    def _restore(cls, args: tuple[Any, ...], state: dict[str, Any]) -> Self:
        error = cls.__new__(cls, *args)
        error.__dict__.update(state)
        return error


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One fault of an input, in a sentence that stands alone."""

    field: str
    detail: str
    row: int | None = None


class InvalidInput(LensError, ValueError):
    """An input of the caller is wrong. It is a ValueError too, as scikit-learn wants it of an estimator.

    `field` is the path of the wrong value in the public API (for example `verbalizer.positive` or
    `options.search.beam_width`). `row` is the index of the wrong example in the upload, from 0;
    None when the error concerns more than one row. If there are several faults, `problems` holds one entry for
    each of the first faults, and a traceback shows them.
    """

    code = "invalid-input"

    def __init__(
        self, message: str, *, field: str, row: int | None = None, problems: tuple[InputProblem, ...] = ()
    ) -> None:
        super().__init__(message)
        self.field = field
        self.row = row
        self.problems = problems
        for problem in problems[1:]:
            self.add_note(problem.detail)

    @property
    def faults(self) -> tuple[InputProblem, ...]:
        """`problems`, or else the one fault that the message tells."""
        return self.problems or (InputProblem(self.field, str(self), self.row),)


class Faults:
    """Collects refusals, so that the caller learns all of them in one error."""

    def __init__(self) -> None:
        self.found: list[InvalidInput] = []

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Keep an `InvalidInput` of the block, and go on after the block."""
        try:
            yield
        except InvalidInput as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Raise InvalidInput if something was found; see `join_faults`."""
        if self.found:
            raise join_faults(self.found)


def join_faults(found: Sequence[InvalidInput]) -> InvalidInput:
    """One error for several. It has the class, the field and the row of the first, and lists the faults of all."""
    found = list({(str(error), error.field): error for error in found}.values())
    first = found[0]
    if len(found) == 1:
        return first
    problems = [problem for error in found for problem in error.faults]
    message = f"{len(problems):,} faults; the first: {first}"
    return type(first)(message, field=first.field, row=first.row, problems=tuple(problems[:_MAX_LISTED]))


class InvalidDataset(InvalidInput):
    """The labelled examples cannot be used as they are.

    Where the columns of a file are in doubt, `columns` has their names and `first_rows` their first values, so that a
    person can choose.
    """

    code = "invalid-dataset"
    columns: tuple[str, ...] = ()
    first_rows: tuple[tuple[str, ...], ...] = ()


class ClassTooSmall(InvalidDataset):
    """A label has fewer examples than its quota or the splits need."""

    code = "class-too-small"


class InvalidTemplate(InvalidInput):
    """The template lacks a slot, repeats a slot, or has an unknown slot."""

    code = "invalid-template"


class InvalidInstruction(InvalidInput):
    """The instruction is blank or too long, or holds characters that no text needs."""

    code = "invalid-instruction"


class InvalidVerbalizer(InvalidInput):
    """A label word is missing or empty, or the model cannot tell two label words apart."""

    code = "invalid-verbalizer"


class InvalidConfig(InvalidInput):
    """Options are out of range, unknown, or in conflict with each other."""

    code = "invalid-options"


class PromptTooLong(InvalidInput):
    """A prompt exceeds the model's context."""

    code = "prompt-too-long"


class ClassifierUnreadable(InvalidInput):
    """A file is no classifier, or has another `schema_version`."""

    code = "classifier-unreadable"


class ModelMismatch(InvalidInput):
    """A classifier is used with another language model than the one that its head was fitted on."""

    code = "model-mismatch"


class ModelError(LensError):
    """The language model could not be loaded, or returned unusable numbers."""

    code = "model-error"


class UnknownModel(ModelError):
    """No model with this name was found."""

    code = "unknown-model"


class UnsafeModel(ModelError):
    """The model's files could run code when loaded (pickle weights, remote code)."""

    code = "unsafe-model"


class UnreadableModel(ModelError):
    """The model's files are damaged, incomplete, or of a kind that cannot be read."""

    code = "unreadable-model"


class NonFiniteScore(ModelError):
    """The model returned NaN or an infinity for a label word."""

    code = "non-finite"


class OutOfMemory(ModelError):
    """The device has too little memory (RAM or GPU memory), even for the smallest batch."""

    code = "out-of-memory"


class ClusterError(ModelError):
    """Actors were lost, could not be started, or would not give the same numbers. Another machine may run the model."""

    code = "cluster-error"


class EndpointError(ModelError):
    """A server refuses to be asked, or what it answers cannot be believed.

    `sentence` says what happened in our words, and names the check that failed. `said` is what the server said, for the
    operator: it may name hosts of his network, or repeat a part of a key. The message has both.
    """

    code = "endpoint-error"

    def __init__(self, sentence: str, *, said: str = "") -> None:
        super().__init__(sentence + f" (it said: {said})" if said else sentence)
        self.sentence = sentence
        self.said = said


class EndpointAway(EndpointError):
    """A server does not answer, after all attempts. It may later."""

    code = "endpoint-away"


class BudgetSpent(LensError):
    """The limit on what requests may cost does not cover the next one. A run ends with the best so far."""

    code = "budget-spent"


class CheckpointError(LensError):
    """The run cannot resume from its checkpoint. A new run without the checkpoint is safe."""

    code = "checkpoint-error"


class CheckpointDamaged(CheckpointError):
    """The checkpoint's bytes do not match the digest stored with them."""

    code = "checkpoint-damaged"


class CheckpointForeign(CheckpointError):
    """The checkpoint belongs to other data, options, model, engine version, device or number format."""

    code = "checkpoint-foreign"


class NothingSelected(LensError):
    """The run was cancelled before any examples were chosen. A run that a budget ends has a result all the same."""

    code = "nothing-selected"

    def __init__(self, stop_reason: str) -> None:
        super().__init__("stopped before any examples were chosen")
        self.stop_reason = stop_reason

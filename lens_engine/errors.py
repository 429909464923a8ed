"""What the engine refuses, and why.

Every error carries a stable `code` that the service repeats to its clients.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

_MAX_LISTED = 20
"""Largest number of faults that one error lists."""


class LensError(Exception):
    """Base class of every error that the engine raises."""

    code: ClassVar[str] = "lens-error"

    def __init_subclass__(cls, code: str | None = None) -> None:
        cls.code = code or cls.code

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with its keyword arguments, which Exception's own `__reduce__` would drop."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


@dataclass(frozen=True, slots=True)
class InputProblem:
    """One fault of an input, in a sentence that stands alone."""

    field: str
    detail: str
    row: int | None = None


class InvalidInput(LensError, ValueError, code="invalid-input"):
    """An input of the caller is wrong. It is a ValueError too, as scikit-learn wants it of an estimator.

    `field` is the path of the wrong value in the public API (for example `verbalizer.positive` or
    `options.search.beam_width`). `row` is the index of the wrong example in the upload, from 0;
    None when the error concerns more than one row. If there are several faults, `problems` holds one entry for
    each of the first faults, and a traceback shows them.
    """

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


class InvalidDataset(InvalidInput, code="invalid-dataset"):
    """The labelled examples cannot be used as they are.

    Where the columns of a file are in doubt, `columns` has their names and `first_rows` their first values, so that a
    person can choose.
    """

    columns: tuple[str, ...] = ()
    first_rows: tuple[tuple[str, ...], ...] = ()


class ClassTooSmall(InvalidDataset, code="class-too-small"):
    """A label has fewer examples than a run needs."""


class InvalidTemplate(InvalidInput, code="invalid-template"):
    """The template lacks a slot, repeats a slot, or has an unknown slot."""


class InvalidInstruction(InvalidInput, code="invalid-instruction"):
    """The instruction is blank or too long, or holds characters that no text needs."""


class InvalidVerbalizer(InvalidInput, code="invalid-verbalizer"):
    """A label word is missing or empty, or the model cannot tell two label words apart."""


class InvalidConfig(InvalidInput, code="invalid-options"):
    """Options are out of range, unknown, or in conflict with each other."""


class PromptTooLong(InvalidInput, code="prompt-too-long"):
    """A prompt exceeds the model's context."""


class ClassifierUnreadable(InvalidInput, code="classifier-unreadable"):
    """A file is no classifier, or has another `schema_version`."""


class ModelMismatch(InvalidInput, code="model-mismatch"):
    """A classifier is used with another language model than the one that its head was fitted on."""


class ModelError(LensError, code="model-error"):
    """The language model could not be loaded, or returned unusable numbers."""


class UnknownModel(ModelError, code="unknown-model"):
    """No model with this name was found."""


class UnsafeModel(ModelError, code="unsafe-model"):
    """The model's files could run code when loaded (pickle weights, remote code)."""


class UnreadableModel(ModelError, code="unreadable-model"):
    """The model's files are damaged, incomplete, or of a kind that cannot be read."""


class NonFiniteScore(ModelError, code="non-finite"):
    """The model returned NaN or an infinity for a label word."""


class OutOfMemory(ModelError, code="out-of-memory"):
    """The device has too little memory (RAM or GPU memory), even for the smallest batch."""


class ClusterError(ModelError, code="cluster-error"):
    """Actors were lost, could not be started, or would not give the same numbers. Another machine may run the model."""


class EndpointError(ModelError, code="endpoint-error"):
    """A server refuses to be asked, or what it answers cannot be believed.

    `sentence` says what happened in our words, and names the check that failed. `said` is what the server said, for the
    operator: it may name hosts of his network, or repeat a part of a key. The message has both.
    """

    def __init__(self, sentence: str, *, said: str = "") -> None:
        super().__init__(sentence + f" (it said: {said})" if said else sentence)
        self.sentence = sentence
        self.said = said


class EndpointAway(EndpointError, code="endpoint-away"):
    """A server does not answer, after all attempts. It may later."""


class BudgetSpent(LensError, code="budget-spent"):
    """The limit on what requests may cost does not cover the next one. A run ends with the best so far."""


class CheckpointError(LensError, code="checkpoint-error"):
    """The run cannot resume from its checkpoint. A new run without the checkpoint is safe."""


class CheckpointDamaged(CheckpointError, code="checkpoint-damaged"):
    """The checkpoint's bytes do not match the digest stored with them."""


class CheckpointForeign(CheckpointError, code="checkpoint-foreign"):
    """The checkpoint belongs to other data, options, model, engine version, device or number format."""


class NothingSelected(LensError, code="nothing-selected"):
    """The run was cancelled before any examples were chosen. A run that a budget ends has a result all the same."""

    def __init__(self, stop_reason: str) -> None:
        super().__init__("stopped before any examples were chosen")
        self.stop_reason = stop_reason

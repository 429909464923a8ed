"""The contract of a format: what it shows, and how it writes that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.show.words import say_expected, say_largest_class
from lens_engine.task.chat import instruct, join_system
from lens_engine.task.record import TaskRecord
from lens_engine.task.template import Template

SLOT = "text"
"""Name of the place of the live input."""


@dataclass(frozen=True, slots=True)
class Source:
    """The support examples for one use, and their task."""

    task: TaskRecord
    answer: SupportExamples
    model: str | None = None  #: the language model for which they were found
    best: SupportExamples | None = None  #: the best prompt, where its form is another than that of `answer`

    @classmethod
    def of_result(cls, result: SelectionResult, use: Use | None = None) -> "Source":
        """
        Raises:
            InvalidConfig: there is no such use.
        """
        if use is not None and use not in get_args(Use):
            raise InvalidConfig(f"there is no use {use!r}; take prompt or probabilities", field="use")
        return cls.of_answer(result.task, result.answer_for(use), result.provenance.model)

    @classmethod
    def of_answer(cls, task: TaskRecord, answer: SupportExamples, model: str | None) -> "Source":
        """The fixed form of a prompt, which every format holds, and the prompt itself."""
        return cls(task, answer.plain, model, None if answer.fixed is None else answer)

    @property
    def note(self) -> str | None:
        """That the format holds another prompt than the best, on one line; None if it does not."""
        if self.best is None:
            return None
        return (
            f"The best prompt has the form {self.best.form.name}{_show_accuracy(self.best)}, which this format cannot "
            f"hold. This is its fixed form{_show_accuracy(self.answer)}."
        )

    @property
    def demonstrations(self) -> list[tuple[str, str]]:
        """Text and label word of each support example, in order."""
        return [(one.text, one.label_word) for one in self.answer.examples]

    @property
    def words(self) -> list[str]:
        """The label words, in the order of the labels."""
        return [one.word for one in self.task.label_words]

    @property
    def system(self) -> str:
        """The system message: the instruction, and what tells the label words."""
        words = instruct(self.words) if self.task.chat is None else self.task.chat.system
        return join_system(self.task.instruction, words)

    @property
    def around_input(self) -> tuple[str, str]:
        """What a turn of the user has before its text, and after: as evaluated for a chat, and else nothing."""
        return ("", "") if self.task.chat is None else Template(self.task.template).around_text


def _show_accuracy(answer: SupportExamples) -> str:
    if answer.expected is None:
        return ""
    told = say_expected(answer.expected, is_test=answer.test is not None)
    return f", {', where '.join([told, *say_largest_class(answer.expected)])}"


@dataclass(frozen=True, slots=True)
class Format:
    """A format of exports."""

    write: Callable[[Source], str]
    media_type: str
    suffix: str  #: of a file, with its dot
    has_text: bool = False  #: whether a model gets byte for byte the prompt that was evaluated, if it is one text
    has_turns: bool = False  #: whether a model gets exactly the turns that were evaluated, if they are a chat

    def is_evaluated_prompt(self, task: TaskRecord) -> bool:
        """Whether a model gets exactly what was evaluated."""
        return self.has_text if task.chat is None else self.has_turns

"""The prompt of each input: the fixed demonstrations, those found for it, and the input.

Library, command and service render by this, and a classifier asks by it: a rendered prompt is the evaluated one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from lens_engine.retrieval.pool import Found, Retrieval
from lens_engine.task.chat import ChatTask, Turn, read_turns
from lens_engine.task.template import Task
from lens_engine.types import Example


class Beginning(NamedTuple):
    """What stands before an input."""

    segments: tuple[str, ...]  #: instruction and demonstrations, each tokenised alone
    found: tuple[Found, ...]  #: the demonstrations that were found for the input, the most similar last


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The prompt of an input, up to the label word."""

    text: str  #: to send unchanged; of a chat its turns as JSON, a line each
    found: tuple[Found, ...]  #: the demonstrations that were found for the input, the most similar last
    turns: tuple[Turn, ...] | None = None  #: `role` and `content` of each turn; None where the prompt is one text


@dataclass(frozen=True, slots=True)
class PromptRenderer:
    """A prompt of any form, which renders inputs. It asks no model, so it cuts no long text."""

    task: Task
    fixed: tuple[str, ...]  #: instruction and fixed demonstrations, rendered
    rows: tuple[int, ...]  #: of the fixed demonstrations, which are not found again
    retrieval: Retrieval | None = None  #: None for a fixed form

    @classmethod
    def of(cls, task: Task, examples: Sequence[Example], retrieval: Retrieval | None) -> Self:
        """The prompt with these fixed demonstrations."""
        return cls(task, task.render_prefix(examples), tuple(one.row for one in examples), retrieval)

    def begin(self, texts: Sequence[str]) -> list[Beginning]:
        """What stands before each text."""
        if self.retrieval is None:
            return [Beginning(self.fixed, ())] * len(texts)
        return [
            Beginning((*self.fixed, *(self.task.render_demonstration(one.example) for one in found)), tuple(found))
            for found in self.retrieval.demonstrations(texts, self.rows)
        ]

    def render(self, texts: Sequence[str]) -> list[RenderedPrompt]:
        """The whole prompt of each text."""
        return [self._join(beginning, text) for beginning, text in zip(self.begin(texts), texts, strict=True)]

    def _join(self, beginning: Beginning, text: str) -> RenderedPrompt:
        prompt = self.task.join_prompt("".join(beginning.segments), text)
        turns = tuple(read_turns(prompt)) if isinstance(self.task, ChatTask) else None
        return RenderedPrompt(prompt, beginning.found, turns)

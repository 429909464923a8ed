"""A task that is asked as turns of a chat: a system message, then user and assistant in turn, and the input last.

A segment of such a task is its turns as canonical JSON, one turn a line. So a prompt is a file of JSON Lines, prefixes
stay tuples of strings, and scorers, caches and checkpoints need not know of turns. The system message stands in the
query, because a prefix may be empty; who sends the turns puts it first (`lift_system`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import Field

from lens_engine.errors import InvalidVerbalizer
from lens_engine.prompt.template import Task
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.types import Example, Record

Turn = dict[str, str]
"""`role` and `content`."""

_LETTERS = "ABCDEFGHIJKLMNOPQRST"
MOST_LETTERS = len(_LETTERS)  #: largest number of labels that letters stand for


class ChatForm(Record):
    """What a chat has beside the turns of the examples."""

    system: str = Field(
        description="System message: what to answer with, and the list of label words. An instruction stands before "
        "it, on lines of its own."
    )
    answers: tuple[str, ...] = Field(
        description="Beginning of the answer that stands for each label, in the order of the labels: the label word, "
        "or its first token where the model writes it in several."
    )
    is_sampled: bool = Field(
        False, description="Whether the model was asked for one answer, because it gives no probabilities."
    )
    fields: dict[str, Any] = Field(
        {},
        exclude_if=lambda fields: not fields,
        description="Further fields of each request, such as reasoning_effort; null leaves a field of Lens out. Left "
        "out if there are none.",
    )


@dataclass(frozen=True, init=False)
class ChatTask(Task):
    """A task whose demonstrations are turns: the template up to the label word by the user, the bare label word by the
    assistant. What the template has after the label word, and the separator, are left out. The instruction begins the
    system message.
    """

    chat: ChatForm = field(kw_only=True)

    def __init__(self, task: Task, chat: ChatForm) -> None:
        super().__init__(task.template, task.verbalizer, task.separator, instruction=task.instruction)
        if len(chat.answers) != len(task.labels):
            raise InvalidVerbalizer(f"{len(task.labels)} labels have {len(chat.answers)} answers", field="task.chat")
        object.__setattr__(self, "chat", chat)

    @cached_property
    def label_spans(self) -> tuple[str, ...]:
        return self.chat.answers

    @property
    def opening(self) -> tuple[str, ...]:
        """Nothing: the instruction is in the system message."""
        return ()

    @property
    def system(self) -> str:
        """The whole system message."""
        return join_system(self.instruction, self.chat.system)

    def render_query(self, text: str) -> str:
        return write_turns([{"role": "system", "content": self.system}, self._user(text)])

    def render_demonstration(self, example: Example) -> str:
        word = self.verbalizer.words[example.label]
        return write_turns([self._user(example.text), {"role": "assistant", "content": word}])

    def join_prompt(self, prefix: str, text: str) -> str:
        """As `Task.join_prompt`: all turns, the system message first."""
        return write_turns(lift_system(read_turns(prefix + self.render_query(text))))

    def _user(self, text: str) -> Turn:
        return {"role": "user", "content": self.template.render_query(text)}


def ask_for_words(task: Task, answers: Sequence[str], *, is_sampled: bool = False) -> ChatTask:
    """The task as a chat that answers with the label words. `answers`, `is_sampled`: as in `ChatForm`."""
    system = instruct(task.verbalizer.words.values())
    return ChatTask(task, ChatForm(system=system, answers=tuple(answers), is_sampled=is_sampled))


def ask_for_letters(task: Task) -> ChatTask:
    """The task as a chat that answers with a letter for each label: A, B, C."""
    words = task.verbalizer.words
    if len(words) > MOST_LETTERS:
        raise InvalidVerbalizer(
            f"letters stand for {MOST_LETTERS} labels at most, and there are {len(words)}", field="verbalizer"
        )
    letters = dict(zip(words, _LETTERS, strict=False))
    listed = "\n".join(f"{letters[label]}: {word}" for label, word in words.items())
    system = f"Answer with the letter of one of these labels and nothing else.\n{listed}"
    asked = Task(task.template, Verbalizer(letters), task.separator, instruction=task.instruction)
    return ChatTask(asked, ChatForm(system=system, answers=tuple(letters.values())))


def instruct(words: Iterable[str]) -> str:
    """What tells a chat model the label words."""
    return f"Answer with one of these labels and nothing else: {', '.join(words)}."


def join_system(instruction: str, system: str) -> str:
    """A system message: the instruction, if there is one, on lines of its own before what tells the label words."""
    return f"{instruction}\n{system}" if instruction else system


def merge_fields(fields: Mapping[str, Any], most_tokens: int) -> dict[str, Any]:
    """Fields of a request beside the turns: those of Lens, and over them those of an endpoint; None leaves one out.

    Args:
        most_tokens: limit on the tokens of an answer; `max_completion_tokens` takes its place.
    """
    limit = {} if "max_completion_tokens" in fields else {"max_tokens": most_tokens}
    merged = {"temperature": 0, **limit, **fields}
    return {name: value for name, value in merged.items() if value is not None}


def write_turns(turns: Iterable[Turn]) -> str:
    """Turns as canonical JSON, a line each."""
    lines = (json.dumps(turn, ensure_ascii=False, sort_keys=True, separators=(",", ":")) for turn in turns)
    return "".join(f"{line}\n" for line in lines)


def read_turns(segment: str) -> list[Turn]:
    """The turns that `write_turns` wrote; none of another text."""
    if not segment.startswith('{"content":'):
        return []
    try:
        turns = [json.loads(line) for line in segment.split("\n") if line]
    except ValueError:
        return []
    return turns if all(isinstance(turn, dict) and turn.keys() == {"role", "content"} for turn in turns) else []


def lift_system(turns: Sequence[Turn]) -> list[Turn]:
    """The turns of a prompt as a server takes them: the system message first."""
    return sorted(turns, key=lambda turn: turn["role"] != "system")

"""The prompt of a classifier as turns of a chat, by the chat template of the model that is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.prompt import Prompt
from lens_engine.errors import InvalidConfig
from lens_engine.scoring.base import ChatScorer, LabelScorer
from lens_engine.scoring.cache.scorer import find_computing
from lens_engine.scoring.label_ends import end_label_words
from lens_engine.task.label_end import EndedTask, find_label_end
from lens_engine.task.record import TaskRecord
from lens_engine.task.special_tokens import BEGIN, OPEN
from lens_engine.task.template import Task, Template

_SLOT = "\ufdd4"
_SPACE = "\u2029"
"""Put around the slot. A chat template that takes it away strips its contents."""


def as_chat(classifier: Classifier, messages: Sequence[Mapping[str, str]], scorer: LabelScorer) -> Classifier:
    """The classifier with its prompt replaced by these messages; the answer of the model is a label word.

    Args:
        messages: `role` and `content` of each, as `Format.messages` gives them: the last of the user is the place of
            the input, `{text}`, with what surrounds it. One of the assistant after it is the beginning of the answer.

    Raises:
        InvalidConfig: the model has no chat template, or its template refuses the messages.
        InvalidVerbalizer: as `end_label_words`.
    """
    chat = find_computing(scorer)
    if not isinstance(chat, ChatScorer):
        raise InvalidConfig(f"{scorer.identity.model} has no chat template that Lens can read", field="form")
    *turns, last = messages
    begun = ""
    if last["role"] == "assistant":
        begun, (*turns, last) = last["content"], turns
    slot = {**last, "content": last["content"].replace("{text}", f"{_SPACE}{_SLOT}{_SPACE}")}
    before, found, after = (BEGIN + chat.render_chat([*turns, slot])).rpartition(_SLOT)
    if not found:
        raise InvalidConfig(f"the chat template of {scorer.identity.model} leaves the input out", field="form")
    strips = (not before.endswith(_SPACE), not after.startswith(_SPACE))
    before, after = before.removesuffix(_SPACE), after.removeprefix(_SPACE)
    # The last turn is the query. A cut before a special token changes no token.
    start = before.rfind(OPEN)
    (prompt,) = classifier.prompts
    task = _ChatTask(
        **dict(classifier.task) | {"chat": None, "label_end": "", "instruction": ""},  # the messages have it
        around=(before[start:], after + begun),
        strips=strips,
    )
    ended = end_label_words(
        task.task(), scorer.encode_label_spans, lambda: _render_after_answer(chat, turns, last, begun, task)
    )
    task = task.model_copy(update={"label_end": find_label_end(ended)})
    prefix = Prompt(rows=prompt.rows, demonstrations=(before[:start] or BEGIN,))
    return classifier.model_copy(update={"task": task, "prompts": (prefix,), "most_tokens": None})


def _render_after_answer(
    chat: ChatScorer, turns: Sequence[Mapping[str, str]], last: Mapping[str, str], begun: str, task: TaskRecord
) -> str:
    """What follows a label word in an answer: the rest of the answer, as in the demonstrations, and of the turn."""
    answers = [turn["content"].removeprefix(begun) for turn in turns if turn["role"] == "assistant"]
    words = sorted((one.word for one in task.label_words), key=len, reverse=True)
    word = next((word for word in words if answers and answers[-1].startswith(word.rstrip())), "")
    rest = answers[-1].removeprefix(word.rstrip()) if word else ""
    answer = {"role": "assistant", "content": f"{begun}{_SLOT}{rest}"}
    return chat.render_chat([*turns, last, answer, {"role": "user", "content": "."}]).rpartition(_SLOT)[2]


@dataclass(frozen=True)
class _LastTurn(Template):
    """The last turn of a chat. It may hold all turns, so it may be longer than a pattern."""

    around: tuple[str, str] = ("", "")  #: what is before the input, and after it
    strips: tuple[bool, bool] = (False, False)  #: whether the input is stripped at its beginning, and at its end

    @cached_property
    def _literals(self) -> tuple[str, str, str]:
        return (*self.around, "")

    def render_query(self, text: str) -> str:
        text = text.lstrip() if self.strips[0] else text
        return super().render_query(text.rstrip() if self.strips[1] else text)


class _ChatTask(TaskRecord):
    """A task whose input is the last turn of a chat."""

    around: tuple[str, str]
    strips: tuple[bool, bool]

    def task(self) -> Task:
        last = _LastTurn(self.template, self.around, self.strips)
        task = Task(last, super().task().verbalizer, "")
        return EndedTask(task, self.label_end) if self.label_end else task

"""What `python` writes: a classifier as a server with an OpenAI-compatible API can be asked it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import ArgmaxHead, LinearHead, PriorHead, PromptsHead
from lens_engine.errors import InvalidConfig
from lens_engine.exports.contract import Source, refuse_system_in_turn
from lens_engine.result.of_prompt import head_of_prompt
from lens_engine.task.chat import join_system, merge_fields, read_turns
from lens_engine.task.record import TaskRecord

_READS = {
    "states": "the model from within, which no endpoint shows, so it needs the weights of its model",
    "states_and_words": "the model from within, which no endpoint shows, so it needs the weights of its model",
    "bag_of_words": "the words of a text alone, so it has nothing to ask an endpoint",
}


@dataclass(frozen=True, slots=True)
class EndpointClassifier:
    """Prompts, label words, and a head on the label words' log-probabilities."""

    task: TaskRecord
    prompts: tuple[str, ...]
    head: PromptsHead
    model: str | None  #: the language model for which the prompts were found
    note: str | None = None  #: that the best prompt is another

    @classmethod
    def of_classifier(cls, classifier: Classifier) -> "EndpointClassifier":
        """
        Raises:
            InvalidConfig: the head reads hidden states or words, or the model gives no probabilities or takes no
                system message.
        """
        head, model = classifier.head, classifier.model
        if not isinstance(head, ArgmaxHead | PriorHead | LinearHead):
            raise InvalidConfig(
                f"the classifier reads {_READS[head.kind]}; ask it by `lens classify` or Classifier.predict, or take "
                "the prompt of the result",
                field="format",
            )
        if classifier.retrieval is not None:
            raise InvalidConfig(
                "the classifier finds demonstrations for each input; take the format folder of the result",
                field="format",
            )
        _refuse_chat(classifier.task)
        prompts = tuple(prompt.text for prompt in classifier.prompts)
        return cls(classifier.task, prompts, head, None if model is None else model.model)

    @classmethod
    def of_source(cls, source: Source) -> "EndpointClassifier":
        """
        Raises:
            InvalidConfig: the model gives no probabilities, or takes no system message.
        """
        _refuse_chat(source.task)
        return cls(
            source.task, (source.answer.prompt,), head_of_prompt(source.task, source.answer), source.model, source.note
        )

    def constants(self) -> dict[str, object]:
        """What the code is given, by name. The prompts are texts, or lists of messages."""
        task, chat = self.task.task(), self.task.chat
        prompts: list[Any] = list(self.prompts)
        if chat is not None:
            system = {"role": "system", "content": join_system(self.task.instruction, chat.system)}
            prompts = [[system, *read_turns(prompt)] for prompt in prompts]
        fields = {} if chat is None else {"FIELDS": merge_fields(chat.fields, most_tokens=1)}
        before, after = task.template.around_text
        return {
            "MODEL": self.model or "",
            "LABELS": list(task.labels),
            "SPANS": list(task.label_spans),
            "BEFORE": before,
            "AFTER": after,
            "PROMPTS": prompts,
            **fields,
            "HEAD": self._head(),
        }

    def _head(self) -> dict[str, Any]:
        """The numbers of the head. That of `argmax` is a `prior` whose biases are zero."""
        found = self.head.model_dump(mode="json", exclude={"inverse_l2"})
        if isinstance(self.head, ArgmaxHead):
            found["biases"] = [[0.0] * len(self.task.labels) for _ in self.prompts]
        return found


def _refuse_chat(task: TaskRecord) -> None:
    refuse_system_in_turn(task)
    if task.chat is not None and task.chat.is_sampled:
        raise InvalidConfig(
            "the model gives no probabilities of label words, which this code reads; take openai-chat, and the answer "
            "as it is",
            field="format",
        )


def lay_out(value: object, write: Callable[[object], str]) -> str:
    """A literal, with a line for each entry of a list or mapping."""
    if isinstance(value, Mapping):
        return "{\n" + "".join(f"    {write(key)}: {write(one)},\n" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + "".join(f"    {write(one)},\n" for one in value) + "]"
    return write(value)

"""Answers of the service. Fields that a later release adds are kept as attributes."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

Use = Literal["prompt", "probabilities"]
First = Literal["prompt", "words", "classifier"]
PromptKind = Literal["support_examples", "classifier"]
Status = Literal["queued", "running", "cancelling", "cancelled", "succeeded", "failed"]


class Answer(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Selection(Answer):
    """A selection: its state and its progress."""

    id: str
    status: Status
    name: str | None = None
    dataset_id: str
    test_dataset_id: str | None = None
    progress: dict[str, Any] | None = None
    partial: bool | None = None
    stop_reason: str | None = None
    error: dict[str, Any] | None = None
    digest: str | None = None
    created_at: datetime
    spec: dict[str, Any] | None = None  #: None in a list
    warnings: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.status in ("succeeded", "failed", "cancelled")


class Event(Answer):
    """An event in the history of a selection."""

    id: int
    at: datetime
    type: str
    data: dict[str, Any]


class Dataset(Answer):
    """A stored dataset."""

    id: str
    name: str | None
    rows: int
    labels: tuple[dict[str, Any], ...]
    is_kept: bool
    created_at: datetime


class LabelSuggestion(Answer):
    """A text to label; only those chosen `at random` are a fair sample of all."""

    input: int
    text: str
    chosen_by: Literal["spread", "at random"]


class LabelSuggestions(Answer):
    """The texts to label next, and how many were compared; of a file, its rows with an empty label as CSV."""

    compared: int
    items: tuple[LabelSuggestion, ...]
    table: str | None
    notes: tuple[str, ...]


class LabelWord(Answer):
    """A label and its word in the prompt."""

    label: str
    word: str


class Task(Answer):
    """Template, label words, separator and instruction."""

    template: str
    label_words: tuple[LabelWord, ...]
    separator: str
    instruction: str = ""


class SupportExample(Answer):
    """One demonstration."""

    position: int
    row: int
    text: str
    label: str
    label_word: str


class LabelBias(Answer):
    """A number to add to the log-probability of a label word (nats)."""

    label: str
    bias: float


class Form(Answer):
    """How the demonstrations of an input are found: `kind` is fixed, nearest or fixed+nearest."""

    kind: str
    nearest: int


class Expected(Answer):
    """How many answers to new texts will be right: by test rows, or an estimate."""

    accuracy: float
    ci95: tuple[float, float]
    n: int
    basis: Literal["test", "estimate"]


class Accuracy(Answer):
    """How often a prompt was right on the rows that chose it."""

    accuracy: float
    n: int
    macro_f1: float | None = None
    largest_class: float | None = None  #: accuracy of always answering the most frequent label


class Demonstration(Answer):
    """A labelled row that a prompt shows. `similarity` is None for one that every prompt shows."""

    row: int
    label: str
    similarity: float | None
    origin: Literal["fixed", "found"]
    text: str | None = None  #: not of a rendered prompt


class PromptAnswer(Answer):
    """What each answer says of a prompt: how good it is, and whether it is recommended."""

    selection_id: str
    form: Form | None = None
    pool_rows: int | None = None  #: number of rows among which demonstrations are found
    label_biases: tuple[LabelBias, ...]
    expected: Expected | None
    judged: Accuracy | None = None
    recommended: bool | None
    first: First
    reason: str
    name: str | None = None  #: of the prompt that was read
    version: int | None = None


class SupportExamples(PromptAnswer):
    """The support examples for one use."""

    use: Use
    task: Task
    examples: tuple[SupportExample, ...]
    prompt: str
    partial: bool | None = None
    demonstrations: tuple[Demonstration, ...] | None = None  #: of `input`; None if none was given


class RenderedPrompt(Answer):
    """A prompt to send to the model unchanged."""

    input: int
    prompt: str
    characters: int
    turns: tuple[dict[str, str], ...] | None = None  #: of a chat, to send in place of `prompt`
    demonstrations: tuple[Demonstration, ...] = ()


class Rendered(PromptAnswer):
    """The prompts for new inputs."""

    partial: bool
    label_words: tuple[LabelWord, ...]
    prompts: tuple[RenderedPrompt, ...]

    def __str__(self) -> str:
        """The first prompt: the only one of one input and the support examples."""
        return self.prompts[0].prompt


class PromptVersion(Answer):
    """A version of a name."""

    name: str
    version: int
    selection_id: str | None
    note: str | None
    key_name: str | None
    created_at: datetime
    model: str | None = None
    accuracy: float | None = None  #: that is expected
    first: First | None = None
    head: str | None = None
    classifier_accuracy: float | None = None
    largest_class: float | None = None  #: accuracy of always answering the most frequent label
    form: str | None = None
    pool_rows: int | None = None
    added: int = 0
    taken_out: int = 0
    warning: str | None = None


class PromptExample(Answer):
    """A labelled row of the pool of a prompt. `added`: to the prompt; it is not of the selection."""

    row: int
    text: str
    label: str
    added: bool


class SuspiciousLabel(Answer):
    """A row whose label may be wrong."""

    row: int
    text: str
    label: str
    likelier: str
    probability: float
    probability_of_likelier: float


class Answered(Answer):
    """The answer to one input."""

    input: int
    label: str | None
    probability: float | None
    probabilities: tuple[float, ...] | None
    answered: bool  #: False where the label is left to a person
    cut: bool = False
    error: dict[str, str] | None = None

    def as_given(self) -> dict[str, Any]:
        """As a file of answers has it."""
        error = None if self.error is None else self.error["detail"]
        return {"label": self.label, "probabilities": self.probabilities, "cut": self.cut, "error": error}


class AskedContender(Answer):
    """What answered: `kind` is classifier, prompt or words."""

    kind: str
    head: str
    form: Form | None
    use: Use | None
    model: str | None


class Classified(Answer):
    """The answers to inputs, in order."""

    selection_id: str
    name: str | None = None
    version: int | None = None
    contender: AskedContender
    labels: tuple[str, ...]
    answers: tuple[Answered, ...]
    figures: dict[str, Any] | None = None


class LabelledFile(NamedTuple):
    """What was written of a file."""

    answers: list[dict[str, Any]]  #: of each row: `label`, `probabilities`, `cut`, `error`
    notes: list[str]  #: what was accepted or left out, a sentence each


class Evaluation(Answer):
    """Figures of a version on labelled rows. `id` is None if they were not kept."""

    id: int | None
    version: int
    title: str | None
    created_at: datetime | None
    result: dict[str, Any]

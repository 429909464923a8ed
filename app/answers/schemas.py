"""Wire types of what production reads, and of texts that are classified."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from app.web.validation import Incoming, Outgoing
from lens_engine.classifier.heads import HeadKind
from lens_engine.classifier.quality import Quality
from lens_engine.config import Use
from lens_engine.evaluation.batches import BATCH_ROWS
from lens_engine.prompt.chat import Turn
from lens_engine.prompt.pool import PromptForm
from lens_engine.prompt.record import LabelWord, TaskRecord
from lens_engine.prompt.text_checks import is_blank
from lens_engine.result import LabelBias, SupportExample, SupportExamples
from lens_engine.result.parts import EvaluationResult
from lens_engine.types import HeadlineKind

MAX_INPUTS = 100


def refuse_blank(text: str) -> str:
    if is_blank(text):
        raise ValueError("is blank; write a text")
    return text


Input = Annotated[str, StringConstraints(max_length=100_000), AfterValidator(refuse_blank)]


class RenderBody(Incoming):
    """One input or several inputs, and the use of their prompts."""

    one_of = ("input", "inputs")
    other_names: ClassVar = {"text": "input", "texts": "inputs"}

    input: Input | None = Field(
        default=None, description="Text for which to build the prompt.", examples=["The plot never gets going."]
    )
    inputs: list[Input] | None = Field(
        default=None, min_length=1, max_length=MAX_INPUTS, description="Several texts, in place of `input`."
    )
    use: Use | None = Field(
        default=None, description="Use for which the support examples are the best; default: that of the selection."
    )


class ExpectedOut(Outgoing):
    """How many answers to new texts will be right."""

    accuracy: float = Field(description="Share of right answers, between 0 and 1.")
    ci95: tuple[float, float] = Field(description="Interval at 95 %: lower and upper bound.")
    n: int = Field(description="Number of rows that tell it.")
    basis: Literal["test", "estimate"] = Field(
        description="test: the figure of the test rows. estimate: by cross-validation on the dataset, without the "
        "optimism of the choice."
    )

    @classmethod
    def of(cls, answer: SupportExamples) -> Self | None:
        """What is expected of support examples; None if they were not judged."""
        found = answer.expected
        basis: Literal["test", "estimate"] = "estimate" if answer.test is None else "test"
        return None if found is None else cls(accuracy=found.accuracy, ci95=found.ci95, n=found.n, basis=basis)


class Demonstration(Outgoing):
    """A labelled row that a prompt shows."""

    row: int = Field(description="Number of the row in the dataset.")
    label: str = Field(description="Label.")
    similarity: float | None = Field(
        description="How much the row is like the input, by words or embeddings (0 to 1); null for a fixed one."
    )
    origin: Literal["fixed", "found"] = Field(
        description="fixed: every prompt shows it. found: it was found for this input."
    )


class ShownDemonstration(Demonstration):
    """A labelled row that a prompt shows, with its text."""

    text: str = Field(description="Text.")


class AnswerOut(Outgoing):
    """What each answer says of a prompt: whether it is recommended, how good it is, and what it finds."""

    recommended: bool | None = Field(
        description="True if the prompt is the first choice of the run. False if that choice is clearly better (paired "
        "test at 5 %). Null if that cannot be told."
    )
    first: HeadlineKind = Field(
        description="What to use first. prompt: the support examples. words: the classifier, which counts words. "
        "classifier: the classifier, which reads the model or sentence embeddings."
    )
    reason: str = Field(description="How often the prompt and what it was compared with are right.")
    selection_id: str = Field(description="Id of the selection.")
    name: str | None = Field(None, description="Name of the prompt, where one was asked.")
    version: int | None = Field(None, description="Version of the name.")
    partial: bool = Field(description="True if the run was stopped before its end: this is the best found until then.")
    form: PromptForm = Field(
        description="How the demonstrations of an input are found; fixed if they are the same for every input."
    )
    pool_rows: int | None = Field(
        description="Number of labelled rows among which they are found; null for a fixed form."
    )
    label_biases: tuple[LabelBias, ...] = Field(
        description="Number to add to the log-probability of each label word (nats), where production reads them."
    )
    expected: ExpectedOut | None = Field(
        description="How often the prompt is right for this use; null if it was not judged."
    )
    judged: Quality | None = Field(
        description="Quality on the rows that chose the prompt, which is optimistic; null if it was not judged."
    )


class SupportExamplesOut(AnswerOut):
    """The support examples for one use, their prompt, and how good they are."""

    task: TaskRecord = Field(description="Template, label words, separator and instruction.")
    use: Use = Field(
        description="How the prompt is read. prompt: the likeliest label word is the answer. probabilities: the label "
        "biases are added to the log-probabilities first."
    )
    method: str = Field(
        description="Where the examples come from. zero_shot: there are none. random, spread, many: a drawn set. lens: "
        "the search. nearest: rows like the input."
    )
    examples: tuple[SupportExample, ...] = Field(description="Support examples, in the order of the prompt.")
    prompt: str = Field(
        description="Beginning of the prompt, up to the input, with what was found for `input` if one was given."
    )
    demonstrations: list[ShownDemonstration] | None = Field(
        description="Demonstrations of `input`, in order; null if none was given."
    )


class RenderedPrompt(Outgoing):
    """A prompt to send, byte for byte as it was evaluated. The model answers with a label word."""

    input: int = Field(description="Number of the input, from 0.")
    prompt: str = Field(description="Text to send to the model unchanged, without a space or line break added.")
    characters: int = Field(description="Number of characters of the prompt.")
    turns: list[Turn] | None = Field(
        None,
        description="The same prompt as turns of a chat, to send in its place; null for a prompt that is one text.",
    )
    demonstrations: list[Demonstration] = Field(description="Demonstrations of the prompt, in order.")


class Rendered(AnswerOut):
    """The prompts for each input, and what a client needs to read the answers of the model."""

    label_words: tuple[LabelWord, ...] = Field(
        description="Label word of each label. The label word that the model finds likeliest after a prompt stands for "
        "its label."
    )
    prompts: list[RenderedPrompt] = Field(description="Prompt of each input.")


AnswerAbove = Annotated[float, Field(ge=0, le=1)]


class Wish(Incoming):
    """What is asked, of all that a selection found."""

    other_names: ClassVar = {"prompt": "prompts"}

    prompts: Literal["support_examples", "classifier"] | None = Field(
        default=None,
        description="What is asked. classifier: the classifier. support_examples: the prompt of the support examples, "
        "which finds demonstrations for each input where its form does. Null: what to use first.",
    )
    use: Use | None = Field(
        default=None, description="Use for which the support examples are the best; default: that of the selection."
    )
    fixed: bool = Field(
        default=False,
        description="Whether the prompt of fixed demonstrations is asked, also where another form is the best.",
    )
    answer_above: AnswerAbove | None = Field(
        default=None,
        description="Least probability of a label that is given. An answer below it has `answered` false, so that a "
        "person can take it. Null: every label is given.",
        examples=[0.9],
    )

    @model_validator(mode="after")
    def has_wishes_of_support_examples(self) -> "Wish":
        if self.prompts == "classifier" and self.use is not None:
            raise ValueError("a classifier has one use; leave `use` out, or ask for `prompts` support_examples")
        if self.prompts == "classifier" and self.fixed:
            raise ValueError("a classifier has no other form; leave `fixed` out, or ask for `prompts` support_examples")
        return self


class ClassifyBody(Wish):
    """Texts to classify at once, and what is asked."""

    other_names: ClassVar = {"prompt": "prompts", "texts": "inputs"}

    inputs: list[str] = Field(
        min_length=1, max_length=BATCH_ROWS, description="Texts to classify.", examples=[["I was charged twice."]]
    )
    labels: list[str | None] | None = Field(
        default=None,
        description="The right label of each input, for figures in the answer; null for an input without one.",
    )

    @model_validator(mode="after")
    def has_a_label_for_each_input(self) -> "ClassifyBody":
        if self.labels is not None and len(self.labels) != len(self.inputs):
            raise ValueError(f"`labels` has {len(self.labels)} items for {len(self.inputs)} inputs; send one for each")
        return self


class AskedContender(Outgoing):
    """What answered."""

    kind: Literal["classifier", "prompt", "words"] = Field(
        description="classifier: it reads a language model or a sentence embedding. words: a classifier that counts "
        "words, without a model. prompt: the prompt of the support examples."
    )
    head: HeadKind = Field(description="Kind of the head.")
    form: PromptForm | None = Field(description="Form of the prompt; null of a classifier.")
    use: Use | None = Field(description="Use of the prompt; null of a classifier.")
    model: str | None = Field(description="Name of the model; null where words are counted.")


class InputError(Outgoing):
    """Why an input has no answer."""

    code: str = Field(description="Stable code, as invalid-input.")
    detail: str = Field(description="What is wrong with it, without its subject: the input.")


class Answered(Outgoing):
    """The answer to one input."""

    input: int = Field(description="Number of the input, counted from 0.")
    label: str | None = Field(description="The likeliest label; null for an input without an answer.")
    probability: float | None = Field(description="Probability of the label.")
    probabilities: list[float] | None = Field(description="Probability of each label, in the order of `labels`.")
    answered: bool = Field(description="Whether the label is given; false where it is left to a person.")
    cut: bool = Field(description="Whether the text was longer than those of the report, and was cut as they were.")
    error: InputError | None = Field(description="Why the input has no answer; null if it has one.")


class Figures(Outgoing):
    """How often the answers are the given labels."""

    n: int = Field(description="Number of inputs that have a label and an answer.")
    right: int = Field(description="Number of them whose answer is the label.")
    accuracy: float = Field(description="Share of them whose answer is the label.")
    macro_f1: float = Field(description="Macro-averaged F1 over the labels that have inputs.")
    log_loss: float = Field(description="Mean negative log-probability of the label (nats).")
    unanswered: int = Field(description="Number of inputs that have a label and no answer.")
    confusion: list[list[int]] = Field(
        description="Number of inputs with each label (first index) and each answer (second index)."
    )


class ClassifiedOut(Outgoing):
    """The answers to the inputs, in order."""

    selection_id: str = Field(description="Id of the selection. It may be deleted.")
    name: str | None = Field(None, description="Name of the prompt, where one was asked.")
    version: int | None = Field(None, description="Version of the name.")
    contender: AskedContender = Field(description="What answered.")
    labels: list[str] = Field(description="Labels, in the order of probabilities.")
    answers: list[Answered] = Field(description="The answer to each input.")
    figures: Figures | None = Field(description="Figures; null without `labels`, or where no input has an answer.")


class TextsOut(Outgoing):
    """The texts of a file, as the classifier reads them, to be classified in batches."""

    texts: list[str] = Field(description="Text of each row.")
    faults: list[str | None] = Field(description="Why a row cannot be asked; null for a good row.")
    labels: list[str] | None = Field(description="Label of each row; null of a file without labels.")
    notes: list[str] = Field(description="What was accepted or left out, a sentence each.")


class EvaluationOut(Outgoing):
    """Figures of a version on labelled rows."""

    id: int | None = Field(None, description="Number of the figures; null if they were not kept.")
    version: int = Field(description="Version of the name that was judged.")
    title: str | None = Field(description="What the rows are called.")
    created_at: datetime | None = Field(None, description="Time of the evaluation; null if it was not kept.")
    result: EvaluationResult = Field(description="The figures.")


class EvaluationPage(Outgoing):
    """One page of the figures that were kept of a name, newest first."""

    items: list[EvaluationOut] = Field(description="Figures, newest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")

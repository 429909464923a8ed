"""Wire types of answers at once: what is asked, the answer to each input, and figures where labels are given."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from app.web.validation import Incoming, Outgoing
from lens_engine.classifier.heads import HeadKind
from lens_engine.config import Use
from lens_engine.evaluation.batches import BATCH_ROWS
from lens_engine.result.parts import EvaluationResult
from lens_engine.retrieval.pool import PromptForm

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


class Contender(Outgoing):
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
    contender: Contender = Field(description="What answered.")
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

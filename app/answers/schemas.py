"""Wire types of what production reads: support examples, and the prompts for new inputs."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints

from app.web.validation import Incoming, Outgoing
from lens_engine.classifier.quality import Quality
from lens_engine.config import Use
from lens_engine.result import LabelBias, SupportExample, SupportExamples
from lens_engine.retrieval.pool import PromptForm
from lens_engine.task.chat import Turn
from lens_engine.task.record import LabelWord, TaskRecord
from lens_engine.task.text_checks import is_blank
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
        description="How much the row is like the input, by its words (0 to 1); null for a fixed one."
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
        description="True if the prompt is the first choice of the run, or as good. False if something else is clearly "
        "better (paired test at 5 %). Null if that cannot be told."
    )
    first: HeadlineKind = Field(
        description="What to use first. prompt: the support examples. words: the classifier, which counts words. "
        "classifier: the classifier, which reads the model or sentence embeddings."
    )
    reason: str = Field(description="How often the prompt and what it was compared with are right.")
    selection_id: str = Field(description="Id of the selection.")
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

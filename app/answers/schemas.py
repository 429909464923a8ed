"""Wire types of what production reads: support examples, and the prompts for new inputs."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, StringConstraints

from app.web.validation import Incoming, Outgoing
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Use
from lens_engine.result import LabelBias, SupportExample
from lens_engine.retrieval.form import PromptForm
from lens_engine.task.chat import Turn
from lens_engine.task.record import LabelWord, TaskRecord
from lens_engine.task.text_checks import is_blank

MAX_INPUTS = 100


def refuse_blank(text: str) -> str:
    if is_blank(text):
        raise ValueError("is blank; write a text")
    return text


Input = Annotated[str, StringConstraints(max_length=100_000), AfterValidator(refuse_blank)]


class RenderBody(Incoming):
    """One input or several inputs, and which prompts to build for each."""

    one_of = ("input", "inputs")
    other_names: ClassVar = {"text": "input", "texts": "inputs"}

    input: Input | None = Field(
        default=None, description="Text for which to build the prompt.", examples=["The plot never gets going."]
    )
    inputs: list[Input] | None = Field(
        default=None, min_length=1, max_length=MAX_INPUTS, description="Several texts, in place of `input`."
    )
    prompts: Literal["support_examples", "classifier"] = Field(
        default="support_examples",
        description="Which prompts to build for each input. support_examples: the prompt of the support examples. "
        "classifier: the prompt of a classifier that reads label probabilities.",
    )
    use: Use | None = Field(
        default=None, description="Use for which the support examples are the best; default: that of the selection."
    )


class BestOut(Outgoing):
    """What is most often right: the prompt, or the classifier to use, by rows that are no test rows."""

    name: str = Field(
        description="Method of the prompt, or what the classifier reads: bag_of_words, states, states_and_words or "
        "label_probabilities."
    )
    accuracy: float | None = Field(description="Accuracy on the test rows; null if it was not tested.")
    n: int | None = Field(description="Number of test rows.")
    path: str | None = Field(description="Path of the classifier to use; null if the prompt is the best.")


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
        description="True if the prompt is at least as often right on the test rows as the classifier to use, and "
        "nothing that was tested is clearly better (paired test at 5 %). False if the classifier is more often right "
        "and something is clearly better than the prompt. Null if that cannot be told, or nothing was compared."
    )
    best: BestOut | None = Field(
        description="The more often right of the prompt and the classifier to use; null if nothing was compared."
    )
    reason: str = Field(description="How often the prompt and what it was compared with are right.")
    selection_id: str = Field(description="Id of the selection.")
    partial: bool = Field(description="True if the run was stopped before its end: this is the best found until then.")
    form: PromptForm = Field(
        description="How the demonstrations of an input are found; fixed if they are the same for every input, as in "
        "the prompts of a classifier."
    )
    pool_rows: int | None = Field(
        description="Number of labelled rows among which they are found; null for a fixed form."
    )
    label_biases: tuple[LabelBias, ...] = Field(
        description="Number to add to the log-probability of each label word (nats), where production reads them; none "
        "for the prompts of a classifier."
    )
    judged: Accuracy | None = Field(
        description="Accuracy on the rows that chose the prompt, which is optimistic; null if it was not judged, and "
        "for the prompts of a classifier."
    )


class SupportExamplesOut(AnswerOut):
    """The support examples for one use, their prompt, and how good they are."""

    task: TaskRecord = Field(description="Template, label words, separator and instruction.")
    use: Use = Field(
        description="How the prompt is read. prompt: the likeliest label word is the answer. probabilities: the label "
        "biases are added to the log-probabilities first."
    )
    method: str = Field(
        description="Method that chose the examples: random-and-validation or zero-shot where they were better. Or the "
        "kind of `form`."
    )
    examples: tuple[SupportExample, ...] = Field(description="Support examples, in the order of the prompt.")
    prompt: str = Field(
        description="Beginning of the prompt, up to the input, with what was found for `input` if one was given."
    )
    demonstrations: list[ShownDemonstration] | None = Field(
        description="Demonstrations of `input`, in order; null if none was given."
    )
    accuracy_without_biases: float | None = Field(description="Accuracy on the test rows, without label biases.")
    accuracy_with_biases: float | None = Field(description="Accuracy on the test rows, with label biases.")


class RenderedPrompt(Outgoing):
    """A prompt to send, byte for byte as it was evaluated. The model answers with a label word."""

    input: int = Field(description="Number of the input, from 0.")
    prompt: str = Field(description="Text to send to the model unchanged, without a space or line break added.")
    characters: int = Field(description="Number of characters of the prompt.")
    turns: list[Turn] | None = Field(
        None,
        description="The same prompt as turns of a chat, to send in its place; null for a prompt that is one text.",
    )
    demonstrations: list[Demonstration] = Field(
        description="Demonstrations of the prompt, in order; none for the prompts of a classifier."
    )


class Rendered(AnswerOut):
    """The prompts for each input, and what a client needs to read the answers of the model."""

    label_words: tuple[LabelWord, ...] = Field(
        description="Label word of each label. The label word that the model finds likeliest after a prompt stands for "
        "its label."
    )
    prompts: list[RenderedPrompt] = Field(description="Prompt of each input.")
    accuracy: float | None = Field(
        description="Accuracy on the test rows of the prompt for this use, or of the classifier; null if it was not "
        "tested."
    )

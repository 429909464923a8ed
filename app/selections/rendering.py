"""Wire types of the prompts for new inputs."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, StringConstraints

from app.selections.schemas import Advice, Demonstration
from app.web.outgoing import Outgoing
from app.web.validation import Incoming
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Use
from lens_engine.result import LabelBias
from lens_engine.retrieval.form import PromptForm
from lens_engine.task.chat import Turn
from lens_engine.task.record import LabelWord
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
        "classifier: every prompt of a classifier that reads label probabilities.",
    )
    use: Use | None = Field(
        default=None, description="Use for which the support examples are the best; default: that of the selection."
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
    demonstrations: list[Demonstration] = Field(
        description="Demonstrations of the prompt, in order; none for the prompts of a classifier."
    )


class Rendered(Advice):
    """The prompts for each input, and what a client needs to read the answers of the model."""

    selection_id: str = Field(description="Id of the selection.")
    partial: bool = Field(
        description="True if the run was stopped before its end, or still runs: the prompts are the best found until "
        "then."
    )
    running: bool = Field(
        description="True if the selection has not ended: the next answer may be another. `judged` says how good it is."
    )
    form: PromptForm = Field(
        description="How the demonstrations of an input are found; fixed for the prompts of a classifier."
    )
    pool_rows: int | None = Field(
        description="Number of labelled rows among which they are found; null for a fixed form."
    )
    label_words: tuple[LabelWord, ...] = Field(
        description="Label word of each label. The label word that the model finds likeliest after a prompt stands for "
        "its label."
    )
    label_biases: tuple[LabelBias, ...] = Field(
        description="Bias of each label after the support examples (nats); none for the prompts of a classifier."
    )
    prompts: list[RenderedPrompt] = Field(
        description="Prompts of the first input, then of the second, and so on; as many for each as the classifier has."
    )
    accuracy: float | None = Field(
        description="Accuracy on the test rows of the prompt for this use, or of the classifier; null if it was not "
        "tested."
    )
    judged: Accuracy | None = Field(
        description="Accuracy of the prompt for this use on the rows that chose it, which is optimistic; null if it "
        "was not judged, and for the prompts of a classifier."
    )

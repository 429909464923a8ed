"""Wire types of what a selection found."""

from typing import Literal

from pydantic import Field

from app.web.outgoing import Outgoing
from lens_engine.classifier.quality import Accuracy
from lens_engine.classifier.suspicion import SuspiciousLabel
from lens_engine.config import Use
from lens_engine.result import LabelBias, SelectionResult, SupportExample
from lens_engine.retrieval.form import PromptForm
from lens_engine.task.record import TaskRecord


class ResultOut(SelectionResult):
    """The result of a selection, and the id of the selection."""

    selection_id: str = Field(description="Id of the selection.")
    pool_rows: int | None = Field(
        description="Number of rows of `pool`, which is left out unless it is asked for; null where no prompt finds "
        "examples for an input."
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


class Advice(Outgoing):
    """Whether a prompt is recommended, and what is better."""

    recommended: bool | None = Field(
        description="False if the classifier to use is more often right, by more than a standard error on rows that "
        "are no test rows; null if nothing was compared."
    )
    best: BestOut | None = Field(
        description="The classifier to use where the prompt is not recommended, or else the prompt; null if nothing "
        "was compared."
    )
    reason: str = Field(description="How often the prompt and what it was compared with are right.")


class SuspiciousLabelOut(SuspiciousLabel):
    """A row whose label the classifier contradicts with confidence, and its text."""

    text: str = Field(description="Text of the row.")


class SuspiciousLabelsOut(Outgoing):
    """Rows whose label is probably wrong."""

    selection_id: str = Field(description="Id of the selection.")
    items: list[SuspiciousLabelOut] = Field(
        description="At most 200 rows, the most suspicious first. Only rows on which the classifier was "
        "cross-validated are judged."
    )


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


class SupportExamplesOut(Advice):
    """The support examples for one use, their prompt, and how good they are."""

    selection_id: str = Field(description="Id of the selection.")
    partial: bool = Field(
        description="True if the run was stopped before its end, or still runs: this is the best found until then."
    )
    running: bool = Field(
        description="True if the selection has not ended: the next answer may be another. `judged` says how good it is."
    )
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
    form: PromptForm = Field(
        description="How the demonstrations of an input are found. `examples` are the same for every input."
    )
    pool_rows: int | None = Field(
        description="Number of labelled rows among which they are found; null for a fixed form."
    )
    demonstrations: list[ShownDemonstration] | None = Field(
        description="Demonstrations of `input`, in order; null if none was given."
    )
    label_biases: tuple[LabelBias, ...] = Field(
        description="Number to add to the log-probability of each label word (nats), where production reads them."
    )
    judged: Accuracy | None = Field(
        description="Accuracy on the rows that chose the prompt, which is optimistic; null if it was not judged."
    )
    accuracy_without_biases: float | None = Field(description="Accuracy on the test rows, without label biases.")
    accuracy_with_biases: float | None = Field(description="Accuracy on the test rows, with label biases.")

"""The result of an evaluation."""

from pydantic import Field

from lens_engine.classifier.prompt import ModelRecord
from lens_engine.classifier.quality import MeasuredQuality
from lens_engine.retrieval.form import PromptForm
from lens_engine.types import Record


class PairedComparison(Record):
    """The answers of an evaluation beside those of the selection, on the rows that both judged."""

    n: int = Field(description="Number of rows that both judged.")
    only_evaluation_right: int = Field(description="Number of rows that only the evaluation has right.")
    only_selection_right: int = Field(description="Number of rows that only the selection had right.")
    p_value: float = Field(description="p-value of the exact McNemar test, two-sided.")
    same_answers: int = Field(description="Number of rows with the same answer.")
    macro_f1: float = Field(description="Macro-F1 of the evaluation minus that of the selection on these rows.")
    macro_f1_error: float = Field(description="Standard error of this difference, by the jackknife, paired by row.")


class EvaluationResult(Record):
    """How often a classifier, or the prompt of support examples, is right on labelled rows."""

    quality: MeasuredQuality = Field(description="Quality on the rows that have an answer, with intervals.")
    unanswered: int = Field(description="Number of rows without an answer: they exceed the context of the model.")
    labels: tuple[str, ...] = Field(description="Labels, in the order of `confusion`.")
    confusion: tuple[tuple[int, ...], ...] = Field(
        description="Number of rows with each label (first index) and each answer (second index)."
    )
    comparison: PairedComparison | None = Field(
        description="Paired with the answers of the selection; null if it judged none of the rows."
    )
    matches: bool | None = Field(
        description="Whether every row that the selection judged has the answer that it had there; null if it judged "
        "none of the rows."
    )
    prompt_form: PromptForm | None = Field(
        None, description="How the demonstrations of an input were found; null for a bag of words."
    )
    prompts: int = Field(description="Number of prompts asked for one row.")
    model: ModelRecord | None = Field(description="The language model that was asked; null for a bag of words.")
    dataset_sha256: str = Field(description="SHA-256 of the texts and labels of the rows, in order.")
    warnings: tuple[str, ...] = Field((), description="What may surprise.")

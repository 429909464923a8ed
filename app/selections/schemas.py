"""Wire types of selections."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from app.jobs.schemas import JobOut, JobSummary
from app.web.outgoing import Outgoing
from lens_engine.classifier.suspicion import SuspiciousLabel
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.result import SelectionResult


class SpecOut(Outgoing):
    """The spec with every option resolved."""

    template: str | list[str] = Field(
        description="Prompt with one `{text}` followed by one `{label}`; a list if the run chooses among several."
    )
    verbalizer: Annotated[dict[str, str], BeforeValidator(dict)] = Field(description="Label word of each label.")
    separator: str = Field(description="Text that ends each demonstration.")
    instruction: str | list[str] = Field(
        description="Text that stands once before the demonstrations, empty for none; a list if the run chooses among "
        "several."
    )
    model: str = Field(description="Name of the model.")
    preset: PresetName = Field(description="Preset to which `options` were applied.")
    config: SelectionConfig = Field(description="Value of every option: the preset, overridden by `options`.")


class SelectionSummary(JobSummary):
    """A selection in a list: its state, and the time of each state that it reached."""

    test_dataset_id: str | None = Field(description="Id of the test rows; null if they are held out of the dataset.")
    partial: bool | None = Field(
        description="True if the run was stopped and the result is the best found until then; its `verdict` says what "
        "to do. Null without a result."
    )


class SelectionOut(SelectionSummary, JobOut):
    """A selection with its spec."""

    spec: SpecOut = Field(description="The spec with every option resolved.")


class SelectionPage(Outgoing):
    """One page of selections, newest first."""

    items: list[SelectionSummary] = Field(description="Selections, newest first; GET of one has its spec.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class ResultOut(SelectionResult):
    """The result of a selection, and the id of the selection."""

    selection_id: str = Field(description="Id of the selection.")
    pool_rows: int | None = Field(
        description="Number of rows of `pool`, which is left out unless it is asked for; null where no prompt finds "
        "examples for an input."
    )


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

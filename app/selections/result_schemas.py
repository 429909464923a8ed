"""Wire types of what a selection found."""

from pydantic import Field

from app.web.outgoing import Outgoing
from lens_engine.classifier.suspicion import SuspiciousLabel
from lens_engine.result import SelectionResult


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

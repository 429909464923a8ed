"""Wire types of predictions."""

from pydantic import Field

from app.evaluations.schemas import SourceOut
from app.intake.parts import Name
from app.jobs.schemas import JobOut, JobSummary, Outgoing
from app.web.validation import Incoming


class PredictionBody(Incoming):
    """The JSON body: texts."""

    texts: list[str] = Field(
        min_length=1, description="Texts to classify. A file is sent in a form.", examples=[["I was charged twice."]]
    )
    name: Name | None = Field(default=None, description="Display name.")


class PredictionSummary(JobSummary):
    """A prediction in a list."""

    source: SourceOut = Field(description="Whose classifier is asked.")


class PredictionView(Outgoing):
    """The classifier that is asked."""

    model: str | None = Field(description="Name of the model; null for a bag of words.")
    head: str = Field(description="Kind of the head.")
    labels: list[str] = Field(description="Labels, in the order of the probabilities.")
    columns: list[str] = Field(description="Columns of the input, which the output has too.")


class PredictionOut(PredictionSummary, JobOut):
    """A prediction."""

    spec: PredictionView = Field(description="The classifier that is asked.")
    output: str | None = Field(description="Path of the output; null before the prediction succeeded.")


class PredictionPage(Outgoing):
    """One page of predictions, newest first."""

    items: list[PredictionSummary] = Field(description="Predictions, newest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")

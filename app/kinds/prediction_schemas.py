"""Predictions: what is submitted, shown and stored. No HTTP, because workers import it too."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.intake.parts import Name
from app.jobs.schemas import JobOut, JobSummary, SourceOut
from app.lifecycle.spec import JobSpec, StoredPart
from app.store.pools import delete_pool, join_pool
from app.store.tables import Dataset, Job
from app.web.outgoing import Outgoing
from app.web.validation import Incoming
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import Use
from lens_engine.retrieval.form import PromptForm
from lens_engine.types import StopReason

AnswerAbove = Annotated[float, Field(ge=0, le=1)]


class PredictionRequest(Incoming):
    """What is asked."""

    other_names: ClassVar = {"prompt": "prompts"}

    prompts: Literal["support_examples", "classifier"] = Field(
        default="classifier",
        description="What is asked. classifier: the classifier. support_examples: the prompt of the support examples; "
        "where it finds demonstrations for each input, it finds them for these texts.",
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
        description="Least probability of a label that is given. In the output, a row below it has no label and "
        "`false` in the column `answered`, so that a person can take it. Null: every label is given.",
        examples=[0.9],
    )

    @model_validator(mode="after")
    def has_wishes_of_support_examples(self) -> "PredictionRequest":
        if self.prompts == "classifier":
            if self.use is not None:
                raise ValueError("a classifier has one use; leave `use` out, or ask for `prompts` support_examples")
            if self.fixed:
                raise ValueError(
                    "a classifier has no other form; leave `fixed` out, or ask for `prompts` support_examples"
                )
        return self


class PredictionBody(Incoming):
    """The JSON body: texts, and what is asked."""

    spec: PredictionRequest = Field(default_factory=PredictionRequest, description="What is asked; all has a default.")
    texts: list[str] = Field(
        min_length=1, description="Texts to classify. A file is sent in a form.", examples=[["I was charged twice."]]
    )
    name: Name | None = Field(default=None, description="Display name.")


class PredictionSummary(JobSummary):
    """A prediction in a list."""

    source: SourceOut = Field(description="Whose classifier or prompt is asked.")


class PredictionView(Outgoing):
    """The classifier or the prompt that is asked."""

    prompts: Literal["support_examples", "classifier"] = Field(description="What is asked.")
    use: Use | None = Field(description="Use of the support examples; null for a classifier.")
    prompt_form: PromptForm | None = Field(
        description="How the prompt finds the demonstrations of an input; null for a classifier."
    )
    model: str | None = Field(description="Name of the model; null for a bag of words.")
    head: str = Field(description="Kind of the head.")
    labels: list[str] = Field(description="Labels, in the order of the probabilities.")
    columns: list[str] = Field(description="Columns of the input, which the output has too.")
    answer_above: float | None = Field(description="Least probability of a label that is given; null for every label.")


class PredictionOut(PredictionSummary, JobOut):
    """A prediction."""

    spec: PredictionView = Field(description="What is asked.")
    output: str | None = Field(description="Path of the output; null before the prediction succeeded.")


class PredictionPage(Outgoing):
    """One page of predictions, newest first."""

    items: list[PredictionSummary] = Field(description="Predictions, newest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class PredictionSpec(JobSpec, PredictionView):
    """What is stored of a prediction for its worker: what clients see, what is asked, and how the output is written."""

    classifier: Classifier  #: without the rows of its pool, which are stored beside the job
    text_place: int | None = None  #: index of the column of texts, whose cells are left out
    delimiter: str | None
    has_mark: bool  #: whether CSV begins with a byte order mark


class OutputSpec(StoredPart):
    """A `PredictionSpec` without the classifier, for the output."""

    labels: tuple[str, ...]
    columns: tuple[str, ...]
    text_place: int | None
    delimiter: str | None
    has_mark: bool
    answer_above: float | None


@dataclass(frozen=True, slots=True)
class PredictionWork:
    """What a worker needs for a prediction. It reads the texts batch by batch."""

    spec: PredictionSpec  #: with the rows of the pool
    dataset_id: str
    num_rows: int


def load_prediction(session: Session, job_id: str) -> PredictionWork:
    """
    Raises:
        NoResultFound: the prediction was deleted.
        SpecUnreadable: see `JobSpec.read`.
    """
    query = select(Job.spec, Dataset.id, Dataset.num_rows).join(Dataset, Dataset.id == Job.dataset_id)
    stored, dataset_id, num_rows = session.execute(query.where(Job.id == job_id)).one()
    spec = PredictionSpec.read(stored)
    whole = spec.model_copy(update={"classifier": join_pool(session, job_id, spec.classifier)})
    return PredictionWork(whole, dataset_id, num_rows)


@dataclass(frozen=True, slots=True)
class PredictionOutcome:
    """All rows have an answer; they are kept already."""

    digest: str  #: SHA-256 of the answers
    dtype: str | None
    stop_reason: StopReason = StopReason.COMPLETED

    def store(self, session: Session, job_id: str) -> dict[str, Any]:
        delete_pool(session, job_id)  # nobody asks again
        return {"partial": False, "digest": self.digest, "dtype": self.dtype}

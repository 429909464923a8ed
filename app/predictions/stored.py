"""A prediction in the database: what its worker reads, and that it has ended. No HTTP."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.answers.stored import ClassifierPart
from app.lifecycle.spec import JobSpec, StoredPart
from app.store.pools import delete_pool, join_pool
from app.store.tables import Dataset, Job
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import Use
from lens_engine.types import StopReason


class PredictionSpec(JobSpec):
    """The classifier, or the prompt as a classifier, that is asked, and how its output is written."""

    model: str | None  #: name of the model that is asked; None for a bag of words
    classifier: Classifier  #: without the rows of its pool, which are stored beside the job
    use: Use | None = None  #: of the prompt of the support examples; None for the classifier of a result
    columns: tuple[str, ...]  #: of the input, in the order of the cells of its rows
    text_place: int | None = None  #: index of the column of texts, whose cells are left out
    delimiter: str | None
    has_mark: bool  #: whether CSV begins with a byte order mark
    answer_above: float | None = None  #: least probability of a label that is given


class PredictionPart(StoredPart):
    """A `PredictionSpec` without the prompts and coefficients of the classifier."""

    model: str | None
    classifier: ClassifierPart
    use: Use | None
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

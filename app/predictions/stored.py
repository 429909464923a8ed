"""A prediction in the database: what its worker reads, and that it has ended. No HTTP."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.lifecycle.rows import read_texts
from app.lifecycle.spec import JobSpec
from app.models import Job
from lens_engine.classifier.classifier import Classifier
from lens_engine.predicting.rows import Prediction
from lens_engine.reading import TextRow
from lens_engine.types import StopReason


class PredictionSpec(JobSpec):
    """The classifier that is asked, and how its output is written."""

    VERSION: ClassVar[int] = 2  # a release with specs of version 1 alone knows no prediction

    model: str | None  #: name of the model that is asked; None for a bag of words
    classifier: Classifier
    columns: tuple[str, ...]  #: of the input
    delimiter: str | None
    has_mark: bool  #: whether CSV begins with a byte order mark


@dataclass(frozen=True, slots=True)
class PredictionWork:
    """All that a worker needs for a prediction."""

    spec: PredictionSpec
    rows: list[TextRow]


def load_prediction(session: Session, job_id: str) -> PredictionWork:
    """
    Raises:
        NoResultFound: the prediction was deleted.
        SpecOfNewerRelease, SpecRefused: see `JobSpec.read`.
    """
    job = session.execute(select(Job).where(Job.id == job_id)).scalar_one()
    spec = PredictionSpec.read(job.spec, job.spec_version)
    return PredictionWork(spec, read_texts(session, job.dataset_id))


@dataclass(frozen=True, slots=True)
class PredictionOutcome:
    """All rows have an answer; they are kept already."""

    predictions: Sequence[Prediction]
    dtype: str | None
    stop_reason: StopReason = StopReason.COMPLETED

    def store(self, session: Session, job_id: str) -> dict[str, Any]:  # noqa: ARG002
        digest = hashlib.sha256()
        for one in self.predictions:
            digest.update(one.model_dump_json().encode() + b"\n")
        return {"partial": False, "digest": digest.hexdigest(), "dtype": self.dtype}

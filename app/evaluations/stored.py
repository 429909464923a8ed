"""An evaluation in the database: what its worker reads, and what it found. No HTTP."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.lifecycle.spec import JobSpec
from app.store.datasets import load_rows
from app.store.pools import delete_pool, join_pool
from app.store.tables import Job, Report
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.subject import Changes, PromptSubject, Subject
from lens_engine.exports import FormatName
from lens_engine.result.evaluation import EvaluationResult
from lens_engine.types import Example, StopReason


class EvaluationSpec(JobSpec):
    """What is judged, on which rows, and how it is asked."""

    model: str | None  #: name of the model that is asked; None for a bag of words
    prompt: PromptSubject | None = None  #: without the rows of its pool, which are stored beside the job
    classifier: Classifier | None = None
    form: FormatName | None = None
    num_prompts: int | None = None
    is_other_model: bool = False
    orders: int = 0
    seed: int = 0
    rows: tuple[int, ...] | None = None  #: rows of the dataset that are judged; None for all
    known: tuple[tuple[int, str], ...] = ()  #: row, and what the selection answered

    @property
    def subject(self) -> Subject:
        subject = self.classifier if self.prompt is None else self.prompt
        assert subject is not None
        return subject

    @property
    def changes(self) -> Changes:
        return Changes(self.form, self.num_prompts, self.is_other_model)


@dataclass(frozen=True, slots=True)
class EvaluationWork:
    """All that a worker needs for an evaluation."""

    spec: EvaluationSpec  #: with the rows of the pool
    examples: tuple[Example, ...]


def load_evaluation(session: Session, job_id: str) -> EvaluationWork:
    """
    Raises:
        NoResultFound: the evaluation was deleted.
        SpecUnreadable: see `JobSpec.read`.
    """
    job = session.execute(select(Job).where(Job.id == job_id)).scalar_one()
    spec = EvaluationSpec.read(job.spec)
    if spec.prompt is not None:
        whole = spec.prompt.model_copy(update={"asked": join_pool(session, job_id, spec.prompt.asked)})
        spec = spec.model_copy(update={"prompt": whole})
    examples = load_rows(session, job.dataset_id)
    if spec.rows is not None:
        wanted = set(spec.rows)
        examples = tuple(example for example in examples if example.row in wanted)
    return EvaluationWork(spec, examples)


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """The figures of an evaluation."""

    result: EvaluationResult
    stop_reason: StopReason = StopReason.COMPLETED

    def store(self, session: Session, job_id: str) -> dict[str, Any]:
        found = self.result.model_dump(mode="json")
        delete_pool(session, job_id)  # nobody asks again
        session.execute(insert(Report).values(job_id=job_id, result=found))
        digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
        dtype = None if self.result.model is None else self.result.model.dtype
        return {"partial": False, "digest": digest, "dtype": dtype}

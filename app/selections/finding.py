"""Finds what production reads of a selection: its result, or while it runs the best so far of its newest checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.answers.answers import CHANGED, Answers, Version
from app.answers.finding import FoundClassifier, Part
from app.answers.indexes import PoolSource
from app.answers.stored import PromptPart
from app.errors import NoResult, NotFinished
from app.jobs import repository
from app.jobs import service as jobs
from app.jobs.polls import retry_after
from app.selections import service
from app.services import Services
from app.store.pools import read_pool
from app.store.states import TERMINAL, Status
from app.store.tables import Job, Report, StoredCheckpoint, StoredClassifier, StoredPool
from lens_engine.classifier.classifier import Classifier
from lens_engine.retrieval.pool import Pool


@dataclass(frozen=True, slots=True)
class SelectionFinder:
    """Finds what one selection found. See `Finder`."""

    services: Services
    owner_id: str
    selection_id: str

    def find_version(self, session: Session, part: Part) -> Version | None:
        table = StoredClassifier if part == "classifier" else Report
        attempt = repository.find_attempt_with(session, self.owner_id, self.selection_id, table)
        if attempt is not None:
            return self._version_of(attempt)
        columns = (StoredCheckpoint.attempt, StoredCheckpoint.created_at)
        saved = self._find_checkpoint(session, *columns) if part == "support-examples" else None
        return None if saved is None else self._version_so_far(*saved)

    def read(self, session: Session, *, has_ended: bool = False) -> Answers:
        job = self._get(session)  # before its result, so that no old result has the version of a new one
        report = repository.find_report(session, self.selection_id)
        if report is not None:
            return self._answers(session, self._version_of(job.attempt), report.result)
        if has_ended:
            raise jobs.explain_absence(self.services, job, "support examples")
        columns = (StoredCheckpoint.attempt, StoredCheckpoint.created_at, StoredCheckpoint.best)
        saved = self._find_checkpoint(session, *columns)
        if saved is None:
            raise self._explain_absence(job)
        attempt, created_at, best = saved
        return self._answers(session, self._version_so_far(attempt, created_at), best)

    def read_classifier(self, session: Session) -> FoundClassifier:
        return FoundClassifier(self.read_version(session), self._classifier(session))

    def read_version(self, session: Session) -> Version:
        """The version of a part that is read afterwards."""
        return self._version_of(self._get(session).attempt)

    def _get(self, session: Session) -> Job:
        return service.get(session, self.owner_id, self.selection_id)

    def _classifier(self, session: Session) -> Classifier:
        return service.get_classifier(self.services, session, self.owner_id, self.selection_id)

    def _version_of(self, attempt: int) -> Version:
        return Version((self.selection_id, str(attempt)))

    def _version_so_far(self, attempt: int, created_at: datetime) -> Version:
        return Version((self.selection_id, "best so far", str(attempt), created_at.isoformat()), is_running=True)

    def _answers(self, session: Session, version: Version, result: dict[str, Any]) -> Answers:
        return Answers(
            version,
            {"selection_id": self.selection_id},
            f"/selections/{self.selection_id}",
            PromptPart.model_validate(result),
            self._classifier,
            self._find_pool(session),
        )

    def _find_checkpoint(self, session: Session, *columns: Any) -> Sequence[Any] | None:
        """Columns of the checkpoint of a selection that has not ended; None if it has chosen no examples."""
        has_best = (StoredCheckpoint.job_id == self.selection_id, StoredCheckpoint.best.is_not(None))
        own = (Job.owner_id == self.owner_id, Job.kind == "selection", Job.status.not_in(TERMINAL))
        statement = select(*columns).join(Job, Job.id == StoredCheckpoint.job_id)
        return session.execute(statement.where(*has_best, *own)).one_or_none()

    def _find_pool(self, session: Session) -> PoolSource | None:
        columns = select(StoredPool.digest, StoredPool.num_rows).where(StoredPool.job_id == self.selection_id)
        found = session.execute(columns).one_or_none()
        if found is None:
            return None
        own = ("selection", self.selection_id)
        return PoolSource(self.owner_id, own, (found.digest,), found.num_rows, self._load_pool)

    def _load_pool(self) -> Pool:
        with self.services.database.session_scope() as session:
            pool = read_pool(session, self.selection_id)
        if pool is None:
            raise NoResult(CHANGED)
        return pool

    def _explain_absence(self, job: Job) -> NotFinished | NoResult:
        status = Status(job.status)
        if status in TERMINAL:
            return jobs.explain_absence(self.services, job, "support examples")
        headers = retry_after(self.services.settings, job.status, job.progress)
        detail = f"the selection is {status} and has chosen no examples yet; repeat the request after `Retry-After`"
        return NotFinished(detail, headers=headers)

"""What a selection answers: its result, or while it runs the best so far of its newest checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from app.errors import NoResult, NotFinished
from app.jobs import repository
from app.jobs import service as jobs
from app.jobs.polls import retry_after
from app.selections import service
from app.selections.answers import CHANGED, Answers
from app.selections.indexes import Indexes, PoolSource
from app.selections.rendering import RenderBody, Rendered
from app.selections.stored import PromptPart
from app.services import Services
from app.store.pools import unpack_pool
from app.store.states import TERMINAL, Status
from app.store.tables import Job, Report, StoredCheckpoint, StoredPool
from app.web.etag import REVALIDATED
from lens_engine.classifier.classifier import Classifier
from lens_engine.retrieval.pool import Pool

_NOT_KEPT = {"Cache-Control": "no-store"}
"""Nobody shall take the best so far for what the selection found."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Which answers a selection has now: what an ETag depends on."""

    version: tuple[str, ...]
    is_running: bool

    @property
    def headers(self) -> dict[str, str]:
        return _NOT_KEPT if self.is_running else REVALIDATED


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a selection."""

    services: Services
    owner_id: str
    selection_id: str

    def look(self, session: Session) -> Answering:
        """Which answers there are, without reading them.

        Raises:
            NotFound: the owner has no selection with this id.
            NotFinished: it has chosen no examples yet.
            NoResult: it ended without a result.
        """
        attempt = repository.find_attempt_with(session, self.owner_id, self.selection_id, Report)
        if attempt is not None:
            return Answering((self.selection_id, str(attempt)), is_running=False)
        saved = self._find_checkpoint(session, StoredCheckpoint.attempt, StoredCheckpoint.created_at)
        if saved is None:
            raise self._explain_absence(session)
        return Answering((self.selection_id, "best so far", str(saved[0]), saved[1].isoformat()), is_running=True)

    def read(self, session: Session) -> Answers:
        """The answers.

        Raises:
            NotFound, NotFinished, NoResult: as `look`.
        """
        jobs.get(session, self.owner_id, "selection", self.selection_id)
        report = repository.find_report(session, self.selection_id)
        saved = self._find_checkpoint(session, StoredCheckpoint.best) if report is None else None
        result: dict[str, Any]
        if report is not None:
            result = report.result
        elif saved is not None:
            result = saved[0]
        else:
            raise self._explain_absence(session)
        part, path = PromptPart.model_validate(result), f"/selections/{self.selection_id}"
        return Answers(self.selection_id, path, part, self._find_pool(session), is_running=report is None)

    async def render(self, indexes: Indexes, body: RenderBody) -> Rendered:
        """The prompts for the inputs of a body.

        Raises:
            NotFound, NotFinished, NoResult: as `look`.
            NoClassifier: the prompts of a classifier were asked for, and there is none.
        """

        def read() -> tuple[Answers, Classifier | None]:
            with self.services.database.session_scope() as session:
                classifier = None
                if body.prompts == "classifier":
                    classifier = service.get_classifier(self.services, session, self.owner_id, self.selection_id)
                return self.read(session), classifier

        answers, classifier = await run_in_threadpool(read)
        pool = await answers.fetch_pool(indexes, body.use) if classifier is None else None
        return await run_in_threadpool(answers.render, body, classifier, pool)

    def _find_checkpoint(self, session: Session, *columns: Any) -> Sequence[Any] | None:
        """Columns of the checkpoint of a selection that has not ended; None if it has chosen no examples."""
        has_best = (StoredCheckpoint.job_id == self.selection_id, StoredCheckpoint.best.is_not(None))
        own = (Job.owner_id == self.owner_id, Job.kind == "selection", Job.status.not_in(TERMINAL))
        statement = select(*columns).join(Job, Job.id == StoredCheckpoint.job_id)
        return session.execute(statement.where(*has_best, *own)).one_or_none()

    def _find_pool(self, session: Session) -> PoolSource | None:
        own = select(StoredPool.digest, StoredPool.num_rows).where(StoredPool.job_id == self.selection_id)
        found = session.execute(own).one_or_none()
        if found is None:
            return None
        return PoolSource(("selection", self.selection_id, found.digest), found.num_rows, self._load_pool)

    def _load_pool(self) -> Pool:
        with self.services.database.session_scope() as session:
            own = select(StoredPool.data).where(StoredPool.job_id == self.selection_id)
            data = session.scalar(own)
        if data is None:
            raise NoResult(CHANGED)
        return unpack_pool(data)

    def _explain_absence(self, session: Session) -> NotFinished | NoResult:
        job = jobs.get(session, self.owner_id, "selection", self.selection_id)
        status = Status(job.status)
        if status in TERMINAL:
            return jobs.explain_absence(self.services, job, "support examples")
        headers = retry_after(self.services.settings, job.status, job.progress)
        detail = f"the selection is {status} and has chosen no examples yet; repeat the request after `Retry-After`"
        return NotFinished(detail, headers=headers)

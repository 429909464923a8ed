"""Finds what production reads of a selection: its result."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.answers.answers import CHANGED, Answers, Version
from app.answers.finding import FoundClassifier, Part
from app.answers.indexes import PoolSource
from app.answers.stored import PromptPart
from app.dependencies import OwnerDep, SelectionIdDep, ServicesDep
from app.errors import NoResult
from app.ids import path_of
from app.selections import repository, results, service
from app.services import Services
from app.store.pools import read_pool
from app.store.tables import Report, StoredClassifier, StoredPool
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat
from lens_engine.retrieval.pool import Pool


@dataclass(frozen=True, slots=True)
class SelectionFinder:
    """Finds what one selection found. See `Finder`."""

    services: Services
    owner_id: str
    selection_id: str

    @property
    def path(self) -> str:
        return path_of(self.selection_id)

    def find_version(self, session: Session, part: Part) -> Version | None:
        table = StoredClassifier if part == "classifier" else Report
        attempt = repository.find_attempt_with(session, self.owner_id, self.selection_id, table)
        return None if attempt is None else self._version_of(attempt)

    def read(self, session: Session) -> Answers:
        version = self.read_version(session)  # before its result, so that no old result has the version of a new one
        report = results.get_report(self.services, session, self.owner_id, self.selection_id)
        return Answers(
            version,
            {"selection_id": self.selection_id},
            self.path,
            PromptPart.model_validate(report.result),
            self._classifier,
            self._find_pool(session),
        )

    def read_classifier(self, session: Session) -> FoundClassifier:
        return FoundClassifier(self.read_version(session), self._classifier(session))

    def find_input(self, session: Session) -> InputFormat | None:
        service.get(session, self.owner_id, self.selection_id)
        return results.find_input(session, self.selection_id)

    def read_version(self, session: Session) -> Version:
        """The version of a part that is read afterwards."""
        return self._version_of(service.get(session, self.owner_id, self.selection_id).attempt)

    def _classifier(self, session: Session) -> Classifier:
        return results.get_classifier(self.services, session, self.owner_id, self.selection_id)

    def _version_of(self, attempt: int) -> Version:
        return Version((self.selection_id, str(attempt)))

    def _find_pool(self, session: Session) -> PoolSource | None:
        columns = select(StoredPool.digest, StoredPool.num_rows).where(StoredPool.job_id == self.selection_id)
        found = session.execute(columns).one_or_none()
        if found is None:
            return None
        return PoolSource(("selection", self.selection_id, found.digest), found.num_rows, self._load_pool)

    def _load_pool(self) -> Pool:
        with self.services.database.session_scope() as session:
            pool = read_pool(session, self.selection_id)
        if pool is None:
            raise NoResult(CHANGED)
        return pool


async def find_selection(selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep) -> SelectionFinder:
    return SelectionFinder(services, owner, selection_id)


SelectionFinderDep = Annotated[SelectionFinder, Depends(find_selection)]
"""Finds what the selection in the path found."""

"""What a selection found: for those who read it whole, and for production."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.answers.answers import CHANGED, Answers, ClassifierPart, PoolSource, PromptPart, SuspiciousPart, Version
from app.errors import Conflict, NoResult
from app.ids import path_of
from app.selections import datasets, service
from app.selections.schemas import ResultOut, SuspiciousLabelOut, SuspiciousLabelsOut
from app.store.datasets import load_texts
from app.store.prompts import read_pool
from app.store.services import Services
from app.store.tables import Job, Report, Status, StoredClassifier, StoredPool
from app.web.dependencies import OwnerDep, SelectionIdDep, ServicesDep
from lens_engine.classifier.classifier import Classifier, InputFormat
from lens_engine.prompt.pool import Pool
from lens_engine.result import SelectionResult
from lens_engine.show.report import ResultView, Texts


def get_report(services: Services, session: Session, owner_id: str, selection_id: str) -> Report:
    """Return the result of a finished selection. Raises NotFinished while it has none, NoResult if it ended without."""
    selection = service.get(session, owner_id, selection_id)
    report = session.get(Report, selection_id)
    if report is None:
        raise service.explain_absence(services, selection, "support examples")
    return report


def present_result(session: Session, report: Report, *, has_pool: bool) -> ResultOut:
    """Build the API's view of a result. `has_pool`: whether with the rows of its pool."""
    selection_id = report.job_id
    stored = session.get(StoredClassifier, selection_id)
    parts = {
        "classifier": stored and stored.classifier,
        "selection_id": selection_id,
        "pool_rows": session.scalar(select(StoredPool.num_rows).where(StoredPool.job_id == selection_id)),
        "pool": read_pool(session, selection_id) if has_pool else None,
    }
    return ResultOut.model_validate(report.result | parts)


def list_suspicious_labels(
    services: Services, session: Session, owner_id: str, selection_id: str
) -> SuspiciousLabelsOut:
    """Return the rows of a finished selection whose label may be wrong, with texts. Raises as `get_report`."""
    report = get_report(services, session, owner_id, selection_id)
    found = SuspiciousPart.model_validate(report.result).suspicious_labels
    dataset_id = service.get(session, owner_id, selection_id).dataset_id
    texts = load_texts(session, dataset_id, [one.row for one in found])
    items = [SuspiciousLabelOut(**dict(one), text=texts[one.row]) for one in found]
    return SuspiciousLabelsOut(selection_id=selection_id, items=items)


def get_view(services: Services, owner_id: str, selection_id: str, *, with_wrong: bool = False) -> ResultView:
    """Return the result of a finished selection as a report shows it, with the texts of suspicious labels and,
    `with_wrong`, of wrong answers. No transaction is open while the result is read, which takes up to a second.
    """
    with services.database.session_scope() as session:
        report = get_report(services, session, owner_id, selection_id)
        selection = service.get(session, owner_id, selection_id)
        stored = session.get(StoredClassifier, selection_id)
        suspicious = SuspiciousPart.model_validate(report.result).suspicious_labels
        texts = load_texts(session, selection.dataset_id, [one.row for one in suspicious])
        told = tuple(filter(datasets.is_correction, selection.warnings))
    result = SelectionResult.model_validate(report.result | {"classifier": stored and stored.classifier})
    view = ResultView(result, Texts(texts), selection.name, selection.created_at.date(), told)
    if not with_wrong:
        return view
    with services.database.session_scope() as session:
        judged = load_texts(session, find_answered(selection, result), view.wrong_rows)
        return replace(view, texts=Texts(texts, judged) if result.answers.is_test else Texts({**texts, **judged}))


def find_answered(selection: Job, result: SelectionResult) -> str:
    """Id of the dataset that has the rows of the answers."""
    return (result.answers.is_test and selection.test_dataset_id) or selection.dataset_id


@dataclass(frozen=True, slots=True)
class SelectionFinder:
    """Finds what one selection found. See `Finder`."""

    services: Services
    owner_id: str
    selection_id: str

    @property
    def path(self) -> str:
        return path_of(self.selection_id)

    def find_version(self, session: Session) -> Version | None:
        """By the attempt that stored the result. A resumed selection has none until another attempt stores one."""
        statement = select(Job.attempt).join(Report, Report.job_id == Job.id)
        attempt = session.scalar(statement.where(*service.is_own(self.owner_id, self.selection_id)))
        return None if attempt is None else self._version_of(attempt)

    def read(self, session: Session) -> Answers:
        version = self.read_version(session)  # before its result, so that no old result has the version of a new one
        report = get_report(self.services, session, self.owner_id, self.selection_id)
        return Answers(
            version,
            {"selection_id": self.selection_id},
            PromptPart.model_validate(report.result),
            self._read_classifier,
            self._find_pool(session),
        )

    def find_input(self, session: Session) -> InputFormat | None:
        service.get(session, self.owner_id, self.selection_id)
        stored = session.get(StoredClassifier, self.selection_id)
        return None if stored is None else ClassifierPart.model_validate(stored.classifier).input

    def read_version(self, session: Session) -> Version:
        """The version of a part that is read afterwards."""
        return self._version_of(service.get(session, self.owner_id, self.selection_id).attempt)

    def _read_classifier(self, session: Session) -> Classifier:
        selection = service.get(session, self.owner_id, self.selection_id)
        stored = session.get(StoredClassifier, self.selection_id)
        if stored is not None:
            return Classifier.model_validate(stored.classifier)
        get_report(self.services, session, self.owner_id, self.selection_id)
        raise Conflict(f"the result has no classifier: {_say_why_none(selection)}", code="no-classifier")

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


async def find_selection(
    request: Request, selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep
) -> SelectionFinder:
    """Find what the selection in the path found, also for routes that names have too."""
    request.state.make_finder = make = partial(SelectionFinder, selection_id=selection_id)
    return make(services, owner)


SelectionFinderDep = Annotated[SelectionFinder, Depends(find_selection)]
"""Finds what the selection in the path found."""


def _say_why_none(selection: Job) -> str:
    """Why a result has no classifier, and how to get one."""
    if selection.status == Status.CANCELLED:
        return f"the selection was cancelled before one was made{service.say_again(selection)}"
    why, what = "none was asked for, or the rows are too few for one", "another classifier.kind, or more rows"
    if selection.partial:
        why, what = "its budget or time ended before one was made", "a larger budget"
    return f"{why}; submit a new selection with dataset_id {selection.dataset_id} and {what}"

"""What a selection found, for those who read it whole: report, classifier, suspicious labels."""

from dataclasses import replace

from sqlalchemy.orm import Session

from app.answers.stored import ClassifierPart, SuspiciousPart
from app.errors import NoClassifier
from app.selections import repository, service
from app.selections.schemas import SuspiciousLabelOut, SuspiciousLabelsOut
from app.services import Services
from app.store.datasets import load_texts
from app.store.states import Status
from app.store.tables import Job, Report
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat
from lens_engine.result import SelectionResult
from lens_engine.show.report import ResultView, Texts


def get_report(services: Services, session: Session, owner_id: str, selection_id: str) -> Report:
    """Return the result of a finished selection.

    Raises:
        NotFinished: the selection has no result yet.
        NoResult: the selection ended without a result.
    """
    selection = service.get(session, owner_id, selection_id)
    report = repository.find_report(session, selection_id)
    if report is None:
        raise service.explain_absence(services, selection, "support examples")
    return report


def list_suspicious_labels(
    services: Services, session: Session, owner_id: str, selection_id: str
) -> SuspiciousLabelsOut:
    """Return the rows of a finished selection whose label is probably wrong, with their texts.

    Raises:
        NotFinished, NoResult: as `get_report`.
    """
    report = get_report(services, session, owner_id, selection_id)
    found = SuspiciousPart.model_validate(report.result).suspicious_labels
    dataset_id = service.get(session, owner_id, selection_id).dataset_id
    texts = load_texts(session, dataset_id, [one.row for one in found])
    items = [SuspiciousLabelOut(**dict(one), text=texts[one.row]) for one in found]
    return SuspiciousLabelsOut(selection_id=selection_id, items=items)


def get_view(services: Services, owner_id: str, selection_id: str, *, with_wrong: bool = False) -> ResultView:
    """Return the result of a finished selection as a report shows it, with the texts of suspicious labels.

    No transaction is open while the result is read, which takes up to a second.

    Args:
        with_wrong: also with the texts of wrong answers.

    Raises:
        NotFinished, NoResult: as `get_report`.
    """
    with services.database.session_scope() as session:
        report, selection = (
            get_report(services, session, owner_id, selection_id),
            service.get(session, owner_id, selection_id),
        )
        stored = repository.find_classifier(session, selection_id)
        suspicious = SuspiciousPart.model_validate(report.result).suspicious_labels
        texts = load_texts(session, selection.dataset_id, [one.row for one in suspicious])
    result = SelectionResult.model_validate(report.result | {"classifier": stored and stored.classifier})
    view = ResultView(result, Texts(texts), selection.name, _say_origin(selection))
    if not with_wrong:
        return view
    with services.database.session_scope() as session:
        test_id = selection.test_dataset_id or selection.dataset_id
        return replace(view, texts=Texts(texts, load_texts(session, test_id, view.wrong_rows)))


def _say_origin(selection: Job) -> str:
    return f"{selection.id}, with {selection.model}, submitted {selection.created_at:%Y-%m-%d %H:%M} UTC"


def get_classifier(services: Services, session: Session, owner_id: str, selection_id: str) -> Classifier:
    """Return the classifier to use of a finished selection.

    Raises:
        NotFinished: the selection has no result yet.
        NoResult: the selection ended without a result.
        NoClassifier: the result has no classifier.
    """
    selection = service.get(session, owner_id, selection_id)
    stored = repository.find_classifier(session, selection_id)
    if stored is not None:
        return Classifier.model_validate(stored.classifier)
    get_report(services, session, owner_id, selection_id)
    raise NoClassifier(f"the result has no classifier: {_say_why_none(selection)}")


def find_input(session: Session, selection_id: str) -> InputFormat | None:
    """How the file of a selection was written, as its classifier holds it; None without one."""
    stored = repository.find_classifier(session, selection_id)
    return None if stored is None else ClassifierPart.model_validate(stored.classifier).input


def _say_why_none(selection: Job) -> str:
    """Why a result has no classifier, and how to get one."""
    if selection.status == Status.CANCELLED:
        again = service.say_again(selection.id, Status.CANCELLED)
        return f"the selection was cancelled before one was made{again}"
    why, what = "none was asked for, or the rows are too few for one", "another classifier.kind, or more rows"
    if selection.partial:
        why, what = "its budget or time ended before one was made", "a larger budget"
    return f"{why}; submit a new selection with dataset_id {selection.dataset_id} and {what}"

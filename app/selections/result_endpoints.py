"""Routes of what a selection found: result, classifier, exports and report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy.orm import Session

from app.dependencies import OWNER_ROUTE, OwnerDep, SelectionIdDep, ServicesDep
from app.jobs import repository
from app.selections import openapi, service
from app.selections.exporting import Export
from app.selections.finding import Reader
from app.selections.measured_forms import MeasuredForm, find_measured
from app.selections.parameters import FormatParameter, UseParameter
from app.selections.presentation import find_shown_pool, present_result
from app.selections.schemas import ResultOut, SuspiciousLabelsOut
from app.store.tables import Report, StoredClassifier
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends
from lens_engine.classifier.classifier import Classifier
from lens_engine.exports import ExportName
from lens_engine.exports.suspicious_labels import write_suspicious_labels
from lens_engine.show.documents import write_html, write_markdown

router = APIRouter(prefix="/selections", tags=["selections"], dependencies=OWNER_ROUTE)

_NO_RESULT = "The selection has no result yet, or it ended without one."
_NO_CLASSIFIER = f"{_NO_RESULT} Or the result has no classifier; `detail` says how to get one."
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: sends("ETag"),
    **not_modified(),
    **refusals(400, 401, 404, 503, conflict=_NO_RESULT, is_conflict_brief=True),
}
_REPORT_HEADERS = {
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",  # it carries its stylesheet
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for a part of a selection, and which version of it he has."""

    selection_id: SelectionIdDep
    owner: OwnerDep
    services: ServicesDep
    if_none_match: KnownEtag = None

    def answer(
        self, name: str, part: type[Report] | type[StoredClassifier], show: Callable[[Session], Any]
    ) -> Response:
        """Answer with the part, or 304 without reading it."""
        with self.services.database.session_scope() as session:
            etag, is_current = self.look_up(session, name, part)
            if is_current:
                return answer_unchanged(etag, REVALIDATED)
            shown = show(session)
        return answer_with_etag(etag, shown, REVALIDATED)

    def look_up(self, session: Session, name: str, part: type[Report] | type[StoredClassifier]) -> tuple[str, bool]:
        """The ETag of the part, and whether the client has it."""
        attempt = repository.find_attempt_with(session, self.owner, self.selection_id, part)
        etag = make_etag(name, self.selection_id, str(attempt))
        return etag, attempt is not None and is_known(self.if_none_match, etag)

    def report(self, session: Session) -> Report:
        """Read the result. Raises the same errors as `service.get_report`."""
        return service.get_report(self.services, session, self.owner, self.selection_id)


AskedDep = Annotated[Asked, Depends()]


@router.get(
    "/{selection_id}/result",
    response_model=ResultOut,
    response_description="The result of the selection. Only that of a cancelled selection may change, by a resume.",
    responses=_ANSWERS,
)
def get_result(
    asked: AskedDep,
    pool: Annotated[bool, Query(description="Whether the answer has the rows of `pool`, which may be 20,000.")] = False,
) -> Response:
    """Return everything that the run found: support examples, classifier, every accuracy, cost, provenance.

    With `pool=true` and without `selection_id` and `pool_rows`, it is what `SelectionResult` of the library reads.
    """

    def show(session: Session) -> Any:
        report, classifier = asked.report(session), repository.find_classifier(session, asked.selection_id)
        return present_result(report, classifier, find_shown_pool(session, asked.selection_id, has_rows=pool))

    return asked.answer(f"result-{pool}", Report, show)


@router.get(
    "/{selection_id}/classifier",
    response_model=Classifier,
    response_description="The classifier of the selection. It changes only as the result does.",
    responses={
        **_ANSWERS,
        200: {**openapi.CLASSIFIER, **sends("ETag")},
        **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER, is_conflict_brief=True),
    },
)
def get_classifier(asked: AskedDep) -> Response:
    """Return the classifier to use: prompts, and a head on what the model says after them.

    It is the cheapest candidate within a standard error of the best. Saved as `classifier.json`, the body is a file
    that `Classifier.load` of the library reads.
    """

    def show(session: Session) -> Any:
        return service.get_classifier(asked.services, session, asked.owner, asked.selection_id)

    return asked.answer("classifier", StoredClassifier, show)


@router.get("/{selection_id}/export", response_class=Response, responses=openapi.exported(_ANSWERS))
def export_support_examples(asked: AskedDep, format: FormatParameter = "json", use: UseParameter = None) -> Response:
    """Return the support examples as a file that another tool loads.

    `text`, `json`, `lm-eval` and `python` give a model the prompt that was evaluated. Others do not:
    `X-Format-Matches-Evaluation` is `null` until an evaluation of this `form` judged the test rows. Then it says
    whether all answers are the same, and `X-Format-Accuracy` how often they are right.

    `folder` is a ZIP archive that renders the prompt of each input. Where the best prompt finds demonstrations for each
    input, the other formats have its fixed form: `X-Prompt-Form` is `fixed`, and `X-Prompt-Accuracy` its accuracy.
    """
    with asked.services.database.session_scope() as session:
        asked.report(session)
        export = Reader(asked.services, asked.owner, asked.selection_id).read(session).prepare_export(use)
        measured = find_measured(session, asked.owner, export.digest, export.source.model, format)
    return answer_export(export, format, asked.if_none_match, measured)


def answer_export(
    export: Export, format: ExportName, if_none_match: str | None, measured: MeasuredForm | None
) -> Response:
    """The file, or 304. The same prompt in the same format is the same file until an evaluation says more of it."""
    etag = make_etag(f"export-{format}", export.version(format), str(measured and measured.id))
    if is_known(if_none_match, etag):
        return answer_unchanged(etag, REVALIDATED)
    return answer_with_etag(etag, export.answer(format, measured), REVALIDATED)


@router.get(
    "/{selection_id}/suspicious-labels",
    response_model=SuspiciousLabelsOut,
    response_description="The rows, as JSON or as CSV.",
    responses={**_ANSWERS, 200: {"content": {"text/csv": {"schema": {"type": "string"}}}, **sends("ETag")}},
)
def list_suspicious_labels(
    asked: AskedDep,
    format: Annotated[Literal["json", "csv"], Query(description="json, or csv for a spreadsheet.")] = "json",
) -> Response:
    """List the rows whose label the classifier contradicts with confidence, the most suspicious first."""

    def show(session: Session) -> SuspiciousLabelsOut | Response:
        found = service.list_suspicious_labels(asked.services, session, asked.owner, asked.selection_id)
        if format == "json":
            return found
        content = write_suspicious_labels(found.items, {one.row: one.text for one in found.items})
        headers = {"Content-Disposition": 'attachment; filename="suspicious-labels.csv"'}
        return Response(content.encode("utf-8-sig"), media_type="text/csv; charset=utf-8", headers=headers)

    return asked.answer(f"suspicious-labels-{format}", Report, show)


@router.get("/{selection_id}/report", response_class=Response, responses=openapi.reported(_ANSWERS))
def get_report(
    asked: AskedDep,
    format: Annotated[Literal["html", "markdown"], Query(description="Form of the report.")] = "html",
) -> Response:
    """Return a report for people: what to use, accuracies, support examples, confusions, calibration, labels, cost.

    The HTML needs no other file. It holds texts of the dataset: support examples, and rows that it calls wrong.
    """

    with asked.services.database.session_scope() as session:
        etag, is_current = asked.look_up(session, f"report-{format}", Report)
    if is_current:
        return answer_unchanged(etag, REVALIDATED)
    view = service.get_view(asked.services, asked.owner, asked.selection_id, with_wrong=True)
    content = write_html(view) if format == "html" else write_markdown(view)
    return answer_with_etag(
        etag, Response(content, media_type=f"text/{format}; charset=utf-8", headers=_REPORT_HEADERS), REVALIDATED
    )

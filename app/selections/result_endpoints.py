"""Routes of what a selection found besides what production reads: result, suspicious labels and report."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.answers.answers import Version
from app.answers.endpoints import Caller, CallerDep
from app.answers.finding import answer_known
from app.dependencies import OWNER_ROUTE, SELECTION_ID
from app.selections import service
from app.selections.finding import SelectionFinder
from app.selections.presentation import present_result
from app.selections.schemas import ResultOut, SuspiciousLabelsOut
from app.web.etag import answer_with_etag
from app.web.openapi import not_modified, refusals, sends
from lens_engine.exports.suspicious_labels import write_suspicious_labels
from lens_engine.show.documents import write_html, write_markdown

router = APIRouter(prefix="/selections/{selection_id}", tags=["selections"], dependencies=[*OWNER_ROUTE, SELECTION_ID])

_NO_RESULT = "The selection has no result yet, or it ended without one."
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
_REPORT = {
    "description": "The report.",
    "content": {one: {"schema": {"type": "string"}} for one in ("text/html", "text/markdown")},
    **sends("ETag"),
}


def _answer(caller: Caller, name: str, show: Callable[[Session], BaseModel | Response]) -> Response:
    """Answer with a part of the selection, or 304 without reading it. Without a result, `show` raises."""
    with caller.services.database.session_scope() as session:
        version = _find_version(caller, session, name)
        if isinstance(version, Response):
            return version
        shown = show(session)
    return answer_with_etag(version.etag(name), shown, version.headers)


def _find_version(caller: Caller, session: Session, name: str) -> Version | Response:
    """The version of a part that is read afterwards, or 304."""
    finder = SelectionFinder(caller.services, caller.owner, caller.asked)
    known = answer_known(finder, session, caller.if_none_match, name, "result")
    return known or finder.read_version(session)


@router.get(
    "/result",
    response_model=ResultOut,
    response_description="The result of the selection. Only that of a cancelled selection may change, by a resume.",
    responses=_ANSWERS,
)
def get_result(
    caller: CallerDep,
    pool: Annotated[bool, Query(description="Whether the answer has the rows of `pool`, which may be 20,000.")] = False,
) -> Response:
    """Return everything that the run found: support examples, classifier, every accuracy, cost, provenance.

    With `pool=true` and without `selection_id` and `pool_rows`, it is what `SelectionResult` of the library reads.
    """

    def show(session: Session) -> ResultOut:
        report = service.get_report(caller.services, session, caller.owner, caller.asked)
        return present_result(session, report, has_pool=pool)

    return _answer(caller, f"result-{pool}", show)


@router.get(
    "/suspicious-labels",
    response_model=SuspiciousLabelsOut,
    response_description="The rows, as JSON or as CSV.",
    responses={**_ANSWERS, 200: {"content": {"text/csv": {"schema": {"type": "string"}}}, **sends("ETag")}},
)
def list_suspicious_labels(
    caller: CallerDep,
    format: Annotated[Literal["json", "csv"], Query(description="json, or csv for a spreadsheet.")] = "json",
) -> Response:
    """List the rows whose label the classifier contradicts with confidence, the most suspicious first."""

    def show(session: Session) -> SuspiciousLabelsOut | Response:
        found = service.list_suspicious_labels(caller.services, session, caller.owner, caller.asked)
        if format == "json":
            return found
        content = write_suspicious_labels(found.items, {one.row: one.text for one in found.items})
        headers = {"Content-Disposition": 'attachment; filename="suspicious-labels.csv"'}
        return Response(content.encode("utf-8-sig"), media_type="text/csv; charset=utf-8", headers=headers)

    return _answer(caller, f"suspicious-labels-{format}", show)


@router.get("/report", response_class=Response, responses={**_ANSWERS, 200: _REPORT})
def get_report(
    caller: CallerDep,
    format: Annotated[Literal["html", "markdown"], Query(description="Form of the report.")] = "html",
) -> Response:
    """Return a report for people: what to use, accuracies, support examples, confusions, calibration, labels, cost.

    The HTML needs no other file. It holds texts of the dataset: support examples, and rows that it calls wrong.
    """
    name = f"report-{format}"
    with caller.services.database.session_scope() as session:
        version = _find_version(caller, session, name)
    if isinstance(version, Response):
        return version
    view = service.get_view(caller.services, caller.owner, caller.asked, with_wrong=True)
    content = write_html(view) if format == "html" else write_markdown(view)
    shown = Response(content, media_type=f"text/{format}; charset=utf-8", headers=_REPORT_HEADERS)
    return answer_with_etag(version.etag(name), shown, version.headers)

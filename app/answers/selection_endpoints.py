"""Routes of what people read of what a selection found; names have those of production too: `app/prompts/`."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.answers import results
from app.answers.answers import end_if_known
from app.answers.results import SelectionFinder, SelectionFinderDep
from app.selections.schemas import ResultOut, SuspiciousLabelsOut
from app.web.dependencies import OWNER_ROUTE
from app.web.openapi import not_modified, refusals, sends
from app.web.parameters import REVALIDATED, KnownEtag, answer_with_etag
from lens_engine.show.exports import write_suspicious_labels
from lens_engine.show.report import write_html

router = APIRouter(tags=["selections"], dependencies=OWNER_ROUTE)

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: sends("ETag"),
    **not_modified(),
    **refusals(400, 401, 404, 503, conflict="The selection has no result yet, or none.", is_conflict_brief=True),
}
_REPORT_HEADERS = {
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",  # it carries its stylesheet
}
_REPORT = {"description": "The report.", "content": {"text/html": {"schema": {"type": "string"}}}, **sends("ETag")}


def _answer(
    finder: SelectionFinder, if_none_match: str | None, name: str, show: Callable[[Session], BaseModel | Response]
) -> Response:
    """Answer with a part of the selection, or 304 without reading it. Without a result, `show` raises."""
    with finder.services.database.session_scope() as session:
        end_if_known(finder, session, if_none_match, name)
        version, shown = finder.read_version(session), show(session)  # the version first
    return answer_with_etag(version.etag(name), shown, REVALIDATED)


@router.get(
    "/selections/{selection_id}/result",
    response_model=ResultOut,
    response_description="The result of the selection. Only that of a cancelled selection may change, by a resume.",
    responses=_ANSWERS,
)
def get_result(
    finder: SelectionFinderDep,
    pool: Annotated[bool, Query(description="Whether the answer has the rows of `pool`, which may be 20,000.")] = False,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return everything that the run found: support examples, classifier, every accuracy, cost, provenance.

    With `pool=true` and without `selection_id` and `pool_rows`, it is what `SelectionResult` of the library reads.
    """

    def show(session: Session) -> ResultOut:
        report = results.get_report(finder.services, session, finder.owner_id, finder.selection_id)
        return results.present_result(session, report, has_pool=pool)

    return _answer(finder, if_none_match, f"result-{pool}", show)


@router.get(
    "/selections/{selection_id}/suspicious-labels",
    response_model=SuspiciousLabelsOut,
    response_description="The rows, as JSON or as CSV.",
    responses={**_ANSWERS, 200: {"content": {"text/csv": {"schema": {"type": "string"}}}, **sends("ETag")}},
)
def list_suspicious_labels(
    finder: SelectionFinderDep,
    format: Annotated[
        Literal["json", "csv"], Query(description="json, or csv for a spreadsheet, whose `row` counts from 1.")
    ] = "json",
    if_none_match: KnownEtag = None,
) -> Response:
    """List the rows whose label the classifier contradicts with confidence, the most suspicious first."""

    def show(session: Session) -> SuspiciousLabelsOut | Response:
        found = results.list_suspicious_labels(finder.services, session, finder.owner_id, finder.selection_id)
        if format == "json":
            return found
        content = write_suspicious_labels(found.items, {one.row: one.text for one in found.items})
        headers = {"Content-Disposition": 'attachment; filename="suspicious-labels.csv"'}
        return Response(content.encode("utf-8-sig"), media_type="text/csv; charset=utf-8", headers=headers)

    return _answer(finder, if_none_match, f"suspicious-labels-{format}", show)


@router.get("/selections/{selection_id}/report", response_class=Response, responses={**_ANSWERS, 200: _REPORT})
def get_report(finder: SelectionFinderDep, if_none_match: KnownEtag = None) -> Response:
    """Return a report for people: what to use, accuracies, support examples, confusions, calibration, labels, cost.

    The HTML file needs no other. It holds texts of the dataset: support examples, and rows that it calls wrong.
    """
    with finder.services.database.session_scope() as session:
        end_if_known(finder, session, if_none_match, "report")
        version = finder.read_version(session)
    view = results.get_view(finder.services, finder.owner_id, finder.selection_id, with_wrong=True)
    shown = Response(write_html(view), media_type="text/html; charset=utf-8", headers=_REPORT_HEADERS)
    return answer_with_etag(version.etag("report"), shown, REVALIDATED)

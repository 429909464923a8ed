"""Routes of what a selection found: what production reads and classifies by, and what people read."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.answers import files, responding, results
from app.answers.answers import answer_known
from app.answers.classifying import CLASSIFY_BODY, ClassifyBodyDep, ClassifyingDep, classify
from app.answers.indexes import IndexesDep
from app.answers.results import SelectionFinder, SelectionFinderDep
from app.answers.schemas import ClassifiedOut, Rendered, SupportExamplesOut, TextsOut
from app.selections.schemas import ResultOut, SuspiciousLabelsOut
from app.web.dependencies import OWNER_ROUTE, SelectionIdDep
from app.web.openapi import not_modified, refusals, sends
from app.web.parameters import REVALIDATED, KnownEtag, answer_with_etag
from lens_engine.classifier.classifier import Classifier
from lens_engine.show.documents import write_html
from lens_engine.show.exports import write_suspicious_labels

router = APIRouter(tags=["selections"], dependencies=OWNER_ROUTE)

_NO_RESULT = "The selection has no result yet, or it ended without one."
_NO_CLASSIFIER = f"{_NO_RESULT} Or the result has no classifier; `detail` says how to get one."
_REFUSALS = refusals(400, 401, 404, 503, conflict=_NO_RESULT, is_conflict_brief=True)


@router.get(
    "/selections/{selection_id}/support-examples",
    response_model=SupportExamplesOut,
    response_description="The support examples.",
    responses={**responding.READS, **_REFUSALS},
)
async def get_support_examples(
    finder: SelectionFinderDep,
    indexes: IndexesDep,
    use: responding.UseParameter = None,
    input: responding.InputParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples in order, their prompt, label biases, and how good they are.

    With `input`, also the demonstrations of this text, where the form of the prompt finds some for each.
    """
    return await responding.answer_support_examples(finder, indexes, if_none_match, use, input)


@router.get(
    "/selections/{selection_id}/classifier",
    response_model=Classifier,
    response_description="The classifier.",
    responses={**responding.READS, **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER, is_conflict_brief=True)},
)
def get_classifier(finder: SelectionFinderDep, if_none_match: KnownEtag = None) -> Response:
    """Return the classifier to use: prompts, and a head on what the model says after them.

    It is the cheapest candidate within a standard error of the best. Saved as `classifier.json`, the body is a
    file that `Classifier.load` of the library reads.
    """
    return responding.answer_classifier(finder, if_none_match)


@router.get("/selections/{selection_id}/export", response_class=Response, responses={**responding.EXPORTS, **_REFUSALS})
def export_support_examples(
    finder: SelectionFinderDep,
    format: responding.FormatParameter = "json",
    use: responding.UseParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples as a file that another tool loads.

    `text` and `json` give a model the prompt that was evaluated. Others do not. Where the best prompt finds
    demonstrations for each input, every format has its fixed form; `json` and `markdown` say so.
    """
    return responding.answer_export(finder, if_none_match, format, use)


@router.post(
    "/selections/{selection_id}/render",
    response_model=Rendered,
    response_description="The prompts of each input.",
    responses=refusals(400, 401, 404, 413, 415, 422, 503, conflict=_NO_RESULT, is_conflict_brief=True),
    openapi_extra=responding.RENDER_BODY,
)
async def render_prompt(finder: SelectionFinderDep, body: responding.RenderBodyDep, indexes: IndexesDep) -> Rendered:
    """Build the prompt of the support examples for each new input.

    Where the form of the prompt finds demonstrations for each input, each prompt says which.

    To classify with the support examples: let the model score each label word after the prompt, add the label
    biases if the use is `probabilities`, and take the likeliest.
    """
    return await responding.render(finder, indexes, body)


_CONFLICT = "The selection has no result yet, or it ended without one, or has not what is asked."
_BODY_REFUSALS = refusals(400, 401, 404, 413, 415, 422, 503, conflict=_CONFLICT, is_conflict_brief=True)


@router.post(
    "/selections/{selection_id}/classify",
    response_description="The answers to the inputs, in order.",
    responses=_BODY_REFUSALS,
    openapi_extra=CLASSIFY_BODY,
)
async def classify_by_selection(
    request: Request,
    finder: SelectionFinderDep,
    classifying: ClassifyingDep,
    body: ClassifyBodyDep,
) -> ClassifiedOut:
    """Classify up to 256 texts at once, by the classifier or the prompt of a selection. Nothing is stored."""
    return await classify(request, finder, classifying, body)


@router.post(
    "/selections/{selection_id}/texts",
    response_model=TextsOut,
    response_description="The texts of the file.",
    responses=_BODY_REFUSALS,
    openapi_extra=files.TEXTS_FORM,
)
def read_texts_for_selection(selection_id: SelectionIdDep, upload: files.TextsUpload) -> Response:
    """Read a file of texts as the classifier of a selection reads it. Nothing is stored."""
    make = partial(SelectionFinder, selection_id=selection_id)
    return files.send(upload, partial(files.write_texts, make), "texts")


@router.post(
    "/selections/{selection_id}/table",
    response_class=Response,
    responses={**files.TABLES, **_BODY_REFUSALS},
    openapi_extra=files.TABLE_FORM,
)
def write_table_for_selection(selection_id: SelectionIdDep, upload: files.TableUpload) -> Response:
    """Write a file of texts with its answers, in the form of the file. Nothing is stored."""
    return files.send(
        upload, partial(files.write_labelled, partial(SelectionFinder, selection_id=selection_id)), "labelled"
    )


_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: sends("ETag"),
    **not_modified(),
    **_REFUSALS,
}
_REPORT_HEADERS = {
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",  # it carries its stylesheet
}
_REPORT = {
    "description": "The report.",
    "content": {"text/html": {"schema": {"type": "string"}}},
    **sends("ETag"),
}


def _answer(
    finder: SelectionFinder, if_none_match: str | None, name: str, show: Callable[[Session], BaseModel | Response]
) -> Response:
    """Answer with a part of the selection, or 304 without reading it. Without a result, `show` raises."""
    with finder.services.database.session_scope() as session:
        known = answer_known(finder, session, if_none_match, name, "result")
        if known is not None:
            return known
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
        known = answer_known(finder, session, if_none_match, "report", "result")
        if known is not None:
            return known
        version = finder.read_version(session)
    view = results.get_view(finder.services, finder.owner_id, finder.selection_id, with_wrong=True)
    shown = Response(write_html(view), media_type="text/html; charset=utf-8", headers=_REPORT_HEADERS)
    return answer_with_etag(version.etag("report"), shown, REVALIDATED)

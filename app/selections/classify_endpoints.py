"""Routes that classify by what a selection found, at once, and files in batches."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.answers.classify_schemas import ClassifiedOut, ClassifyBody, TextsOut
from app.answers.classifying import ClassifyingDep, classify
from app.answers.files import TABLES, send, write_labelled, write_texts
from app.answers.finding import Finder
from app.dependencies import OWNER_ROUTE, SelectionIdDep
from app.intake.parts import COLUMN_PARTS, DIALECT_PARTS, describe_upload
from app.intake.receiving import Upload, receive
from app.selections.finding import SelectionFinder, SelectionFinderDep
from app.services import Services
from app.web.openapi import named, refusals
from app.web.request_body import json_body

router = APIRouter(tags=["selections"], dependencies=OWNER_ROUTE)

_CONFLICT = "The selection has no result yet, or it ended without one, or has not what is asked."
_REFUSALS = refusals(400, 401, 404, 413, 415, 422, 503, conflict=_CONFLICT, is_conflict_brief=True)


def _make_finder(selection_id: str, services: Services, owner_id: str) -> Finder:
    return SelectionFinder(services, owner_id, selection_id)


@router.post(
    "/selections/{selection_id}/classify",
    response_description="The answers to the inputs, in order.",
    responses=_REFUSALS,
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": named(ClassifyBody)}}}},
)
async def classify_by_selection(
    request: Request,
    finder: SelectionFinderDep,
    classifying: ClassifyingDep,
    body: Annotated[ClassifyBody, Depends(json_body(ClassifyBody, is_stored=False))],
) -> ClassifiedOut:
    """Classify up to 256 texts at once, by the classifier or the prompt of a selection. Nothing is stored."""
    return await classify(request, finder, classifying, body)


@router.post(
    "/selections/{selection_id}/texts",
    response_model=TextsOut,
    response_description="The texts of the file.",
    responses=_REFUSALS,
    openapi_extra=describe_upload("TextsForm", {"texts": "reviews.csv"}),
)
def read_texts_for_selection(
    selection_id: SelectionIdDep, upload: Annotated[Upload, receive("texts", "spec", *COLUMN_PARTS)]
) -> Response:
    """Read a file of texts as the classifier of a selection reads it. Nothing is stored."""
    return send(upload, partial(write_texts, partial(_make_finder, selection_id)), "texts")


@router.post(
    "/selections/{selection_id}/table",
    response_class=Response,
    responses={**TABLES, **_REFUSALS},
    openapi_extra=describe_upload("TableForm", {"texts": "reviews.csv", "answers": "answers.json"}),
)
def write_table_for_selection(
    selection_id: SelectionIdDep,
    upload: Annotated[Upload, receive("texts", "answers", "spec", "text_column", *DIALECT_PARTS)],
) -> Response:
    """Write a file of texts with its answers, in the form of the file. Nothing is stored."""
    return send(upload, partial(write_labelled, partial(_make_finder, selection_id)), "labelled")

"""Routes of what production reads of a selection, and that classify by it: at once, and files in batches."""

from functools import partial

from fastapi import APIRouter, Request, Response

from app.answers.classify_schemas import ClassifiedOut, TextsOut
from app.answers.classifying import CLASSIFY_BODY, ClassifyBodyDep, ClassifyingDep, classify
from app.answers.files import (
    TABLE_FORM,
    TABLES,
    TEXTS_FORM,
    TableUpload,
    TextsUpload,
    send,
    write_labelled,
    write_texts,
)
from app.answers.indexes import IndexesDep
from app.answers.responding import (
    EXPORTS,
    READS,
    RENDER_BODY,
    FormatParameter,
    InputParameter,
    RenderBodyDep,
    UseParameter,
    answer_classifier,
    answer_export,
    answer_support_examples,
    render,
)
from app.answers.results import SelectionFinder, SelectionFinderDep
from app.answers.schemas import Rendered, SupportExamplesOut
from app.dependencies import OWNER_ROUTE, SelectionIdDep
from app.web.etag import KnownEtag
from app.web.openapi import refusals
from lens_engine.classifier.classifier import Classifier

router = APIRouter(tags=["selections"], dependencies=OWNER_ROUTE)

_NO_RESULT = "The selection has no result yet, or it ended without one."
_NO_CLASSIFIER = f"{_NO_RESULT} Or the result has no classifier; `detail` says how to get one."
_REFUSALS = refusals(400, 401, 404, 503, conflict=_NO_RESULT, is_conflict_brief=True)


@router.get(
    "/selections/{selection_id}/support-examples",
    response_model=SupportExamplesOut,
    response_description="The support examples.",
    responses={**READS, **_REFUSALS},
)
async def get_support_examples(
    finder: SelectionFinderDep,
    indexes: IndexesDep,
    use: UseParameter = None,
    input: InputParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples in order, their prompt, label biases, and how good they are.

    With `input`, also the demonstrations of this text, where the form of the prompt finds some for each.
    """
    return await answer_support_examples(finder, indexes, if_none_match, use, input)


@router.get(
    "/selections/{selection_id}/classifier",
    response_model=Classifier,
    response_description="The classifier.",
    responses={**READS, **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER, is_conflict_brief=True)},
)
def get_classifier(finder: SelectionFinderDep, if_none_match: KnownEtag = None) -> Response:
    """Return the classifier to use: prompts, and a head on what the model says after them.

    It is the cheapest candidate within a standard error of the best. Saved as `classifier.json`, the body is a
    file that `Classifier.load` of the library reads.
    """
    return answer_classifier(finder, if_none_match)


@router.get("/selections/{selection_id}/export", response_class=Response, responses={**EXPORTS, **_REFUSALS})
def export_support_examples(
    finder: SelectionFinderDep,
    format: FormatParameter = "json",
    use: UseParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples as a file that another tool loads.

    `text` and `json` give a model the prompt that was evaluated. Others do not. Where the best prompt finds
    demonstrations for each input, every format has its fixed form; `json` and `markdown` say so.
    """
    return answer_export(finder, if_none_match, format, use)


@router.post(
    "/selections/{selection_id}/render",
    response_model=Rendered,
    response_description="The prompts of each input.",
    responses=refusals(400, 401, 404, 413, 415, 422, 503, conflict=_NO_CLASSIFIER, is_conflict_brief=True),
    openapi_extra=RENDER_BODY,
)
async def render_prompt(finder: SelectionFinderDep, body: RenderBodyDep, indexes: IndexesDep) -> Rendered:
    """Build the prompt of the support examples for each new input, or the prompt of the classifier.

    Where the form of the prompt finds demonstrations for each input, each prompt says which.

    To classify with the support examples: let the model score each label word after the prompt, add the label
    biases if the use is `probabilities`, and take the likeliest. The prompts of a classifier need its head too.
    """
    return await render(finder, indexes, body)


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
    openapi_extra=TEXTS_FORM,
)
def read_texts_for_selection(selection_id: SelectionIdDep, upload: TextsUpload) -> Response:
    """Read a file of texts as the classifier of a selection reads it. Nothing is stored."""
    return send(upload, partial(write_texts, partial(SelectionFinder, selection_id=selection_id)), "texts")


@router.post(
    "/selections/{selection_id}/table",
    response_class=Response,
    responses={**TABLES, **_BODY_REFUSALS},
    openapi_extra=TABLE_FORM,
)
def write_table_for_selection(selection_id: SelectionIdDep, upload: TableUpload) -> Response:
    """Write a file of texts with its answers, in the form of the file. Nothing is stored."""
    return send(upload, partial(write_labelled, partial(SelectionFinder, selection_id=selection_id)), "labelled")

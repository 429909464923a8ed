"""Routes of what production reads of a selection."""

from fastapi import APIRouter, Response

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
from app.answers.schemas import Rendered, SupportExamplesOut
from app.dependencies import OWNER_ROUTE
from app.selections.finding import SelectionFinderDep
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

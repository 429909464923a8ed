"""Routes of what production reads of a prompt."""

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
from app.dependencies import OWNER_ROUTE
from app.prompts.parameters import PromptFinderDep
from app.prompts.schemas import NamedPrompts, NamedSupportExamples
from app.web.etag import KnownEtag
from app.web.openapi import refusals
from lens_engine.classifier.classifier import Classifier

router = APIRouter(tags=["prompts"], dependencies=OWNER_ROUTE)

_NO_CLASSIFIER = "The version has no classifier, or one whose prompts alone classify nothing."
_REFUSALS = refusals(400, 401, 404, 503)


@router.get(
    "/prompts/{name}/support-examples",
    response_model=NamedSupportExamples,
    response_description="The support examples.",
    responses={**READS, **_REFUSALS},
)
async def get_prompt_support_examples(
    finder: PromptFinderDep,
    indexes: IndexesDep,
    use: UseParameter = None,
    input: InputParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples of the current version, as of a selection."""
    return await answer_support_examples(finder, indexes, if_none_match, use, input)


@router.get(
    "/prompts/{name}/classifier",
    response_model=Classifier,
    response_description="The classifier.",
    responses={**READS, **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER)},
)
def get_prompt_classifier(finder: PromptFinderDep, if_none_match: KnownEtag = None) -> Response:
    """Return the classifier of the current version, as of a selection."""
    return answer_classifier(finder, if_none_match)


@router.get("/prompts/{name}/export", response_class=Response, responses={**EXPORTS, **_REFUSALS})
def export_prompt(
    finder: PromptFinderDep,
    format: FormatParameter = "json",
    use: UseParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples of the current version as a file that another tool loads, as of a selection."""
    return answer_export(finder, if_none_match, format, use)


@router.post(
    "/prompts/{name}/render",
    response_model=NamedPrompts,
    response_description="The prompts of each input.",
    responses=refusals(400, 401, 404, 413, 415, 422, 503, conflict=_NO_CLASSIFIER),
    openapi_extra=RENDER_BODY,
)
async def render_named_prompt(finder: PromptFinderDep, body: RenderBodyDep, indexes: IndexesDep) -> NamedPrompts:
    """Build the prompt of the current version for each new input, as of a selection."""
    return await render(finder, indexes, body)  # type: ignore[return-value]

"""Routes of what production reads of a selection or of a name, and classifies by: at once, and files in batches."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool

from app.answers import files
from app.answers.answers import Answers, Finder, IndexesDep, MakeFinder, end_if_known, render
from app.answers.classifying import CLASSIFY_BODY, ClassifyBodyDep, ClassifyingDep, classify
from app.answers.results import find_selection
from app.answers.schemas import ClassifiedOut, RenderBody, Rendered, SupportExamplesOut, TextsOut, refuse_blank
from app.prompts.endpoints import find_prompt
from app.web.dependencies import OWNER_ROUTE, OwnerDep, ServicesDep, read_state
from app.web.openapi import not_modified, refusals, sends, takes_json
from app.web.parameters import REVALIDATED, KnownEtag, Unchanged, answer_with_etag, is_known, make_etag
from app.web.request_body import json_body
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import Use
from lens_engine.show.exports import FORMATS, write_export
from lens_engine.types import FormatName

selections = APIRouter(tags=["selections"], dependencies=[*OWNER_ROUTE, Depends(find_selection)])
prompts = APIRouter(
    tags=["prompts"],
    dependencies=[*OWNER_ROUTE, Depends(find_prompt)],
    generate_unique_id_function=lambda route: f"{route.name}_by_name",
)

MOST_INPUT_CHARACTERS = 1_000
"""Of an input in an address, of which proxies take 16 KiB: a character may be written with 12 bytes."""

_CONFLICT = "There is no result yet, or none, or it has not what is asked; `detail` says how to get it."
_READS: dict[int | str, Any] = {
    200: sends("ETag"),
    **not_modified(),
    **refusals(400, 401, 404, 503, conflict=_CONFLICT, is_conflict_brief=True),
}
_REFUSALS = refusals(400, 401, 404, 413, 415, 422, 503, conflict=_CONFLICT, is_conflict_brief=True)
_MEDIA_TYPES = sorted({one.media_type.partition(";")[0] for one in FORMATS.values()})
_FILE = {
    "description": "The file.",
    "content": {one: {"schema": {"type": "string"} if one.startswith("text/") else {}} for one in _MEDIA_TYPES},
    **sends("ETag", "Content-Disposition"),
}

UseParameter = Annotated[
    Use | None, Query(description="Use for which the prompt is the best; default: that of the selection.")
]
InputParameter = Annotated[
    str | None,
    Query(
        max_length=MOST_INPUT_CHARACTERS,
        description="Text whose demonstrations are shown as well. A longer one is sent to `render`.",
        examples=["The plot never gets going."],
    ),
    AfterValidator(lambda text: None if text is None else refuse_blank(text)),
]


MakerDep = Annotated[MakeFinder, read_state("make_finder")]
"""What makes the finder of the selection or the name in the path."""


async def get_finder(make: MakerDep, owner: OwnerDep, services: ServicesDep) -> Finder:
    return make(services, owner)


FinderDep = Annotated[Finder, Depends(get_finder)]
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


def _of_both(method: str, part: str, **about: Any) -> Callable[[_Endpoint], _Endpoint]:
    """Make a function the route of a part of a selection, and of what a name says. `about`: as of FastAPI's routes."""
    about = {"responses": _REFUSALS if method == "POST" else _READS, **about}

    def add(endpoint: _Endpoint) -> _Endpoint:
        selections.add_api_route(f"/selections/{{selection_id}}/{part}", endpoint, methods=[method], **about)
        prompts.add_api_route(f"/prompts/{{name}}/{part}", endpoint, methods=[method], **about)
        return endpoint

    return add


@_of_both("GET", "support-examples", response_model=SupportExamplesOut, response_description="The support examples.")
async def get_support_examples(
    finder: FinderDep,
    indexes: IndexesDep,
    use: UseParameter = None,
    input: InputParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples in order, their prompt, label biases, and how good they are; of a name, those of its
    current version.

    With `input`, also the demonstrations of this text, where the form of the prompt finds some for each.
    """
    name = f"support-examples-{use}-{input}"

    def read() -> Answers:
        with finder.services.database.session_scope() as session:
            end_if_known(finder, session, if_none_match, name)
            return finder.read(session)

    answers = await run_in_threadpool(read)
    pool = None if input is None else await answers.fetch_pool(indexes, use)
    shown = await run_in_threadpool(answers.show, use, input, pool)
    return answer_with_etag(answers.version.etag(name), shown, REVALIDATED)


@_of_both("GET", "classifier", response_model=Classifier, response_description="The classifier.")
def get_classifier(finder: FinderDep, if_none_match: KnownEtag = None) -> Response:
    """Return the classifier to use: prompts, and a head on what the model says after them.

    It is the cheapest candidate within a standard error of the best. Saved as `classifier.json`, the body is a
    file that `Classifier.load` of the library reads.
    """
    with finder.services.database.session_scope() as session:
        end_if_known(finder, session, if_none_match, "classifier")
        answers = finder.read(session)
        classifier = answers.read_classifier(session)
    return answer_with_etag(answers.version.etag("classifier"), classifier, REVALIDATED)


@_of_both("GET", "export", response_class=Response, responses={**_READS, 200: _FILE})
def export_prompt(
    finder: FinderDep,
    format: Annotated[FormatName, Query(description="Form of the file.")] = "json",
    use: UseParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples as a file that another tool loads.

    `text` and `json` give a model the prompt that was evaluated. Others do not. Where the best prompt finds
    demonstrations for each input, every format has its fixed form; `json` and `markdown` say so.
    """
    with finder.services.database.session_scope() as session:
        source = finder.read(session).export(use)
    content = f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}"
    etag, kind = make_etag(f"export-{format}", content), FORMATS[format]
    if is_known(if_none_match, etag):
        raise Unchanged(etag)
    headers = {"Content-Disposition": f'attachment; filename="support-examples{kind.suffix}"'}
    file = Response(write_export(source, format), media_type=kind.media_type, headers=headers)
    return answer_with_etag(etag, file, REVALIDATED)


@_of_both("POST", "render", response_description="The prompts of each input.", openapi_extra=takes_json(RenderBody))
async def render_prompt(
    finder: FinderDep, body: Annotated[RenderBody, Depends(json_body(RenderBody, is_stored=False))], indexes: IndexesDep
) -> Rendered:
    """Build the prompt of the support examples for each new input.

    Where the form of the prompt finds demonstrations for each input, each prompt says which.

    To classify with the support examples: let the model score each label word after the prompt, add the label
    biases if the use is `probabilities`, and take the likeliest.
    """
    return await render(finder, indexes, body)


@_of_both("POST", "classify", response_description="The answers to the inputs, in order.", openapi_extra=CLASSIFY_BODY)
async def classify_texts(
    request: Request, finder: FinderDep, classifying: ClassifyingDep, body: ClassifyBodyDep
) -> ClassifiedOut:
    """Classify up to 256 texts at once, by the classifier or the prompt. Nothing is stored."""
    return await classify(request, finder, classifying, body)


@_of_both(
    "POST",
    "texts",
    response_model=TextsOut,
    response_description="The texts of the file.",
    openapi_extra=files.TEXTS_FORM,
)
def read_texts(make: MakerDep, upload: files.TextsUpload) -> Response:
    """Read a file of texts as the classifier reads it. Nothing is stored."""
    return files.send(upload, partial(files.write_texts, make), "texts")


@_of_both(
    "POST", "table", response_class=Response, responses={**files.TABLES, **_REFUSALS}, openapi_extra=files.TABLE_FORM
)
def write_table(make: MakerDep, upload: files.TableUpload) -> Response:
    """Write a file of texts with its answers, in the form of the file. Nothing is stored."""
    return files.send(upload, partial(files.write_labelled, make), "labelled")

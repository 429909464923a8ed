"""Routes of what production reads of a name, and that classify by it: at once, and files in batches."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Request, Response

from app.answers import files, responding
from app.answers.classifying import CLASSIFY_BODY, ClassifyBodyDep, ClassifyingDep, classify
from app.answers.indexes import IndexesDep
from app.answers.schemas import ClassifiedOut, EvaluationOut, EvaluationPage, TextsOut
from app.prompts import service
from app.prompts.finding import PromptFinder
from app.prompts.parameters import NameDep, PromptFinderDep
from app.prompts.schemas import NamedPrompts, NamedSupportExamples
from app.selections.parts import COLUMN_PARTS, describe_upload
from app.selections.receiving import Upload, receive
from app.store import prompts as repository
from app.store.prompt_tables import PromptEvaluation
from app.store.quota import check_bytes, lock_owner
from app.web.dependencies import OWNER_ROUTE, OwnerDep, PageDep, SessionDep
from app.web.openapi import refusals
from app.web.parameters import KnownEtag, read_last_number
from lens_engine.classifier.classifier import Classifier

router = APIRouter(tags=["prompts"], dependencies=OWNER_ROUTE)

_NO_CLASSIFIER = "The version has no classifier."
_REFUSALS = refusals(400, 401, 404, 503)


@router.get(
    "/prompts/{name}/support-examples",
    response_model=NamedSupportExamples,
    response_description="The support examples.",
    responses={**responding.READS, **_REFUSALS},
)
async def get_prompt_support_examples(
    finder: PromptFinderDep,
    indexes: IndexesDep,
    use: responding.UseParameter = None,
    input: responding.InputParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples of the current version, as of a selection."""
    return await responding.answer_support_examples(finder, indexes, if_none_match, use, input)


@router.get(
    "/prompts/{name}/classifier",
    response_model=Classifier,
    response_description="The classifier.",
    responses={**responding.READS, **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER)},
)
def get_prompt_classifier(finder: PromptFinderDep, if_none_match: KnownEtag = None) -> Response:
    """Return the classifier of the current version, as of a selection."""
    return responding.answer_classifier(finder, if_none_match)


@router.get("/prompts/{name}/export", response_class=Response, responses={**responding.EXPORTS, **_REFUSALS})
def export_prompt(
    finder: PromptFinderDep,
    format: responding.FormatParameter = "json",
    use: responding.UseParameter = None,
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the support examples of the current version as a file that another tool loads, as of a selection."""
    return responding.answer_export(finder, if_none_match, format, use)


@router.post(
    "/prompts/{name}/render",
    response_model=NamedPrompts,
    response_description="The prompts of each input.",
    responses=refusals(400, 401, 404, 413, 415, 422, 503),
    openapi_extra=responding.RENDER_BODY,
)
async def render_named_prompt(
    finder: PromptFinderDep, body: responding.RenderBodyDep, indexes: IndexesDep
) -> NamedPrompts:
    """Build the prompt of the current version for each new input, as of a selection."""
    return await responding.render(finder, indexes, body)  # type: ignore[return-value]


_CONFLICT = "The version has no classifier, or its model is another one now."
_BODY_REFUSALS = refusals(400, 401, 404, 413, 415, 422, 503, conflict=_CONFLICT)


@router.post(
    "/prompts/{name}/classify",
    response_description="The answers to the inputs, in order.",
    responses=_BODY_REFUSALS,
    openapi_extra=CLASSIFY_BODY,
)
async def classify_by_prompt(
    request: Request,
    finder: PromptFinderDep,
    classifying: ClassifyingDep,
    body: ClassifyBodyDep,
) -> ClassifiedOut:
    """Classify up to 256 texts at once, by the classifier or the prompt of a name. Nothing is stored."""
    return await classify(request, finder, classifying, body)


@router.post(
    "/prompts/{name}/texts",
    response_model=TextsOut,
    response_description="The texts of the file.",
    responses=_BODY_REFUSALS,
    openapi_extra=files.TEXTS_FORM,
)
def read_texts_for_prompt(name: NameDep, upload: files.TextsUpload) -> Response:
    """Read a file of texts as the classifier of a name reads it. Nothing is stored."""
    return files.send(upload, partial(files.write_texts, partial(PromptFinder, name=name)), "texts")


@router.post(
    "/prompts/{name}/table",
    response_class=Response,
    responses={**files.TABLES, **_BODY_REFUSALS},
    openapi_extra=files.TABLE_FORM,
)
def write_table_for_prompt(name: NameDep, upload: files.TableUpload) -> Response:
    """Write a file of texts with its answers, in the form of the file. Nothing is stored."""
    return files.send(upload, partial(files.write_labelled, partial(PromptFinder, name=name)), "labelled")


@router.post(
    "/prompts/{name}/evaluations",
    response_description="The figures; kept with the version if that was asked.",
    responses=_BODY_REFUSALS,
    openapi_extra=describe_upload("FiguresForm", {"texts": "october.csv", "answers": "answers.json"}),
)
def evaluate_prompt(
    name: NameDep, upload: Annotated[Upload, receive("texts", "answers", "spec", *COLUMN_PARTS)]
) -> EvaluationOut:
    """Measure answers to the rows of a labelled file, which `classify` gave. The rows are not stored."""
    measured = upload.do(partial(files.measure_file, partial(PromptFinder, name=name)))
    owner, settings = upload.owner_id, upload.services.settings
    with upload.services.database.session_scope() as session:
        made = PromptEvaluation(
            owner_id=owner,
            name=name,
            version=service.get(session, owner, name).version,
            title=measured.title,
            result=measured.result.model_dump(mode="json"),
        )
        if measured.keep:
            lock_owner(session, owner, settings)
            session.add(made)
            session.flush()
            check_bytes(session, owner, settings)
        return EvaluationOut.model_validate(made)


@router.get(
    "/prompts/{name}/evaluations",
    response_description="One page of figures.",
    responses=refusals(400, 401, 404, 503),
)
def list_evaluations(name: NameDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> EvaluationPage:
    """List the figures that were kept of a name, newest first."""
    service.get(session, owner, name)
    before = read_last_number(page.last_id, 18, "cursor", "evaluations")  # digits of 64 bits
    found = repository.list_evaluations(session, owner, name, before, page.limit)
    kept, cursor = page.cut(found, lambda one: one.id)
    return EvaluationPage(items=list(map(EvaluationOut.model_validate, kept)), next=cursor)

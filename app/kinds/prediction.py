"""Predictions: the labels of texts, by the classifier or the prompt of a selection or of a registered prompt."""

from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol

from fastapi import APIRouter, Response, status
from sqlalchemy.orm import Session

from app.answers.answers import Answers
from app.dependencies import OWNER_ROUTE, SelectionIdDep
from app.errors import Unprocessable
from app.intake.bodies import Body, FormBody, JsonBody, parsing_limits
from app.intake.limits import check_asking, check_model_name
from app.intake.parts import DIALECT_PARTS, describe_bodies, describe_form
from app.intake.receiving import KeyDep, Upload, receive
from app.intake.refusals import invalid_inputs
from app.intake.submitting import NewJob, answer_submission, submitted
from app.jobs.endpoints import JobRoutes
from app.jobs.presentation import read_columns
from app.jobs.schemas import QueueOut
from app.jobs.view import View
from app.kinds.prediction_schemas import (
    PredictionBody,
    PredictionOut,
    PredictionPage,
    PredictionRequest,
    PredictionSpec,
    PredictionSummary,
    PredictionView,
)
from app.prompts.finding import PromptFinder
from app.prompts.parameters import NameDep
from app.selections import service as selections
from app.selections.finding import SelectionFinder
from app.services import Services
from app.settings import Settings
from app.store.pools import part_pool
from app.store.rows import weigh_answers
from app.store.states import Status
from app.store.tables import Job
from app.web.validation import read_model
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat
from lens_engine.config import Use
from lens_engine.reading import ReadTexts, read_inline_texts
from lens_engine.reading.limits import DatasetEmpty
from lens_engine.retrieval.form import PromptForm

MODELS = (PredictionRequest, PredictionBody)
SCHEMAS = describe_form(
    "PredictionForm",
    "The form of a prediction: texts as a file, and the spec as JSON.",
    {
        "texts": {
            "type": "string",
            "format": "binary",
            "description": "CSV or JSONL file with a column of texts. Delimiter and encoding are found.",
        }
    },
    PredictionRequest,
    required=("texts",),
)
router = APIRouter(tags=["predictions"], dependencies=OWNER_ROUTE)
UploadDep = Annotated[Upload, receive("texts", "spec", "text_column", *DIALECT_PARTS)]
_SUBMISSION: dict[str, Any] = {
    "status_code": status.HTTP_202_ACCEPTED,
    "response_model": PredictionOut,
    "response_description": "The queued prediction. `Location` is its address.",
    "responses": submitted(conflict="Or there is no classifier.", codes=(404,)),
    "openapi_extra": describe_bodies("PredictionForm", PredictionBody, form_example={"texts": "october.csv"}),
}


@router.post("/selections/{selection_id}/predictions", **_SUBMISSION)
def submit_prediction(selection_id: SelectionIdDep, upload: UploadDep, key: KeyDep) -> Response:
    """Classify the texts of a file with the classifier of a selection, or with its prompt."""
    check = partial(check_prediction, partial(find_in_selection, selection_id))
    return answer_submission(upload, key, VIEW, check, about=f"prediction of {selection_id}")


@router.post("/prompts/{name}/predictions", **_SUBMISSION)
def submit_named_prediction(name: NameDep, upload: UploadDep, key: KeyDep) -> Response:
    """Classify the texts of a file with the classifier that a name says now, or with its prompt."""
    check = partial(check_prediction, partial(find_in_prompt, name))
    return answer_submission(upload, key, VIEW, check, about=f"prediction of {name}")


class _Found(NamedTuple):
    """What is asked, and where it comes from."""

    asked: Classifier
    source: dict[str, Any]
    use: Use | None = None  #: of a prompt


class _Find(Protocol):
    """Finds what is asked. It can be pickled."""

    def __call__(self, services: Services, session: Session, owner_id: str, wanted: PredictionRequest) -> _Found:
        """
        Raises:
            NotFound, NotFinished, NoResult, NoClassifier: there is nothing of the kind.
        """
        ...


def check_prediction(find: _Find, services: Services, owner_id: str, body: Body) -> NewJob:
    """Find what is asked, and read the texts.

    Raises:
        NotFound, NotFinished, NoResult, NoClassifier: as `find`.
        BadRequest, ContentTooLarge, Unprocessable, RefusedInput: the body is wrong.
    """
    if isinstance(body, FormBody):
        wanted, name = read_model(PredictionRequest, body.spec, "spec"), None
    else:
        given = read_model(PredictionBody, body.value)
        wanted, name = given.spec, given.name
    with services.database.session_scope() as session:
        found = find(services, session, owner_id, wanted)
    asked, settings = found.asked, services.settings
    model = None if asked.model is None else check_model_name(asked.model.model, settings)
    texts = _read_texts(body, settings, asked.input)
    check_asking(asked, model, len(texts.rows), len(asked.prompts), settings)
    return _make_job(found, texts, model, name, wanted.answer_above)


def _read_texts(body: Body, settings: Settings, usual: InputFormat | None) -> ReadTexts:
    """The texts to classify. `usual`: how the file of the selection was written."""
    limits = parsing_limits(settings)
    with invalid_inputs():
        if isinstance(body, JsonBody):
            return read_inline_texts(body.value["texts"], limits)
        texts = body.parse_texts(limits, usual)
        if texts is None:
            raise Unprocessable.at("/texts", "`texts` is missing; send a file")
        if not texts.rows:
            raise DatasetEmpty("the file has no rows", field="texts")
        return texts


def _make_job(
    found: _Found, texts: ReadTexts, model: str | None, name: str | None, answer_above: float | None
) -> NewJob:
    asked, parted = found.asked, part_pool(found.asked)
    form = PromptForm() if asked.retrieval is None else asked.retrieval.form
    spec = PredictionSpec(
        prompts="classifier" if found.use is None else "support_examples",
        use=found.use,
        prompt_form=None if found.use is None else form,
        model=model,
        head=asked.head.kind,
        labels=list(asked.labels),
        columns=list(texts.columns),
        answer_above=answer_above,
        classifier=parted.classifier,
        text_place=texts.text_place,
        delimiter=texts.dialect.delimiter,
        has_mark=texts.dialect.has_mark,
    )
    return NewJob(
        VIEW,
        spec.model_dump(mode="json"),
        texts,
        name=name,
        source=found.source,
        answer_bytes=weigh_answers(len(texts.rows), asked.labels),
        pool=parted.pool,
    )


def find_in_selection(
    selection_id: str, services: Services, session: Session, owner_id: str, wanted: PredictionRequest
) -> _Found:
    """What is asked of a selection, for `check_prediction`."""
    own, source = (services, session, owner_id, selection_id), {"selection_id": selection_id}
    if wanted.prompts == "classifier":
        return _Found(selections.get_classifier(*own), source)
    answers = SelectionFinder(services, owner_id, selection_id).read(session, has_ended=True)
    return _find_prompt(answers, wanted, selections.find_input(session, selection_id), source)


def find_in_prompt(name: str, services: Services, session: Session, owner_id: str, wanted: PredictionRequest) -> _Found:
    """What is asked of the current version of a prompt, for `check_prediction`."""
    named = PromptFinder(services, owner_id, name).read_current(session)
    version = named.version
    source = {"selection_id": version.selection_id, "prompt_name": version.name, "version": version.version}
    if wanted.prompts == "classifier":
        return _Found(named.get_classifier(), source)
    return _find_prompt(named.answers, wanted, named.find_input(), source)


def _find_prompt(
    answers: Answers, wanted: PredictionRequest, usual: InputFormat | None, source: dict[str, Any]
) -> _Found:
    """The prompt that is wanted, as a classifier.

    Args:
        usual: how the file of the selection was written; None if that is not known.
    """
    asked = answers.make_classifier(wanted.use, is_fixed=wanted.fixed)
    return _Found(asked.classifier.model_copy(update={"input": usual}), source, asked.use)


def present(_: Session, job: Job, queue: QueueOut | None) -> PredictionOut:
    """Build the API's view of a prediction."""
    output = f"/predictions/{job.id}/output" if job.status == Status.SUCCEEDED else None
    values = read_columns(job, PredictionOut.model_fields, queue)
    spec = {name: job.spec[name] for name in PredictionView.model_fields}
    return PredictionOut.model_validate({**values, "spec": spec, "output": output})


VIEW = View(
    kind="prediction",
    summary=PredictionSummary,
    out=PredictionOut,
    page=PredictionPage,
    present=present,
    keeps="the predictions so far",
    resumes="It goes on after the last row that is predicted.",
    has_source=True,
)
life = JobRoutes(VIEW).router

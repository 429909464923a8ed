"""Evaluations: how often what a selection found is right on other rows, or asked otherwise."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Response, status
from sqlalchemy.orm import Session

from app.dependencies import OWNER_ROUTE, SelectionIdDep
from app.errors import Unprocessable
from app.intake.bodies import Body, FormBody, name_columns, parsing_limits
from app.intake.limits import check_asking, check_model_name
from app.intake.parts import COLUMN_PARTS, LABELLED_FILE, describe_bodies, describe_form
from app.intake.receiving import KeyDep, Upload, receive
from app.intake.refusals import invalid_inputs
from app.intake.submitting import KnownDataset, Labelled, NewJob, answer_submission, find_dataset, submitted
from app.jobs import repository
from app.jobs.endpoints import JobRoutes
from app.jobs.presentation import read_columns
from app.jobs.schemas import QueueOut
from app.jobs.view import View
from app.kinds.evaluation_schemas import (
    EvaluationBody,
    EvaluationOut,
    EvaluationPage,
    EvaluationRequest,
    EvaluationSpec,
    EvaluationSummary,
    EvaluationView,
)
from app.selections import service
from app.services import Services
from app.settings import Settings
from app.store.datasets import find_equal_dataset
from app.store.pools import read_pool
from app.store.rows import weigh_answers
from app.store.tables import Job
from app.web.rate_limits import SUBMISSION_LIMIT
from app.web.validation import read_model
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.answers import join_labels, leave_out
from lens_engine.evaluation.subject import (
    OPTIMISTIC,
    Changes,
    PromptSubject,
    Subject,
    check_changes,
    classifier_of,
    digest_answer,
    known_answers,
)
from lens_engine.reading import ParsedDataset, parse_inline
from lens_engine.result import SelectionResult

MOST_REORDERED = 20_000
"""Answers in other orders that one evaluation may ask for: they are not kept, so a lost attempt asks them again."""

MODELS = (EvaluationRequest, EvaluationBody)
SCHEMAS = describe_form(
    "EvaluationForm",
    "The form of an evaluation: rows as a file, and the spec as JSON.",
    {"dataset": LABELLED_FILE},
    EvaluationRequest,
)
router = APIRouter(prefix="/selections", tags=["evaluations"], dependencies=OWNER_ROUTE)


@router.post(
    "/{selection_id}/evaluations",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=EvaluationOut,
    dependencies=[SUBMISSION_LIMIT],
    response_description="The queued evaluation. `Location` is its address.",
    responses=submitted(conflict="Or the selection does not have what is judged.", codes=(404,)),
    openapi_extra=describe_bodies(
        "EvaluationForm",
        EvaluationBody,
        json_example={"spec": {"orders": 2}},
        form_example={"dataset": "october.csv", "spec": {"prompts": "support_examples"}},
    ),
)
def submit_evaluation(
    selection_id: SelectionIdDep,
    upload: Annotated[Upload, receive("dataset", "spec", *COLUMN_PARTS)],
    key: KeyDep,
) -> Response:
    """Judge what a selection found on other rows, with another model, as turns of a chat, or in other orders.

    Without rows, the test rows of the selection are judged.
    """
    check = partial(check_evaluation, selection_id)
    return answer_submission(upload, key, VIEW, check, about=f"evaluation of {selection_id}")


def check_evaluation(selection_id: str, services: Services, owner_id: str, body: Body) -> NewJob:
    """Read what the selection found, the request and the rows, and check that they fit.

    Raises:
        NotFound, NotFinished, NoResult, NoClassifier: the selection does not have what is judged.
        BadRequest, ContentTooLarge, Unprocessable, RefusedInput: the body is wrong.
    """
    wanted, rows = _read(services, owner_id, body)
    with services.database.session_scope() as session:
        selection = service.get(session, owner_id, selection_id)
        report = service.get_report(services, session, owner_id, selection_id)
        result = SelectionResult.model_validate(report.result | {"pool": read_pool(session, selection_id)})
        subject: Subject
        if wanted.prompts == "classifier":
            subject = service.get_classifier(services, session, owner_id, selection_id)
        else:
            is_fixed = wanted.fixed or wanted.form is not None  # a chat holds fixed demonstrations alone
            with invalid_inputs():
                subject = PromptSubject.of_result(result, wanted.use, is_fixed=is_fixed)
        equal = find_equal_dataset(session, owner_id, rows) if isinstance(rows, ParsedDataset) else None
    found = _Found(selection, result, subject)
    changes, model = _check_request(found, wanted, rows, services.settings)
    warnings, places = tuple[str, ...](), None
    dataset_id = rows.id if isinstance(rows, KnownDataset) else equal
    if rows is None:
        rows, places = found.own_rows()
        dataset_id = rows.id
    elif dataset_id == selection.dataset_id:
        warnings = (f"dataset: {OPTIMISTIC}",)
    num_rows = len(rows.examples) if places is None else len(places)
    _check_size(found, wanted, num_rows, model, services.settings)
    known = known_answers(result, subject).items() if dataset_id == found.test_dataset_id else ()
    spec, pool = EvaluationSpec.of(
        subject, wanted, changes, model=model, seed=result.provenance.seed, places=places, known=tuple(known)
    )
    return NewJob(
        VIEW,
        spec.model_dump(mode="json"),
        rows,
        name=wanted.name,
        source={"selection_id": selection.id, "answer": digest_answer(subject)},
        warnings=warnings,
        answer_bytes=weigh_answers(num_rows, found.asked.labels),
        pool=pool,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a selection found, and what of it is judged."""

    selection: Job
    result: SelectionResult
    subject: Subject

    @property
    def asked(self) -> Classifier:
        return classifier_of(self.subject)

    @property
    def test_dataset_id(self) -> str:
        return self.selection.test_dataset_id or self.selection.dataset_id

    def own_rows(self) -> tuple[KnownDataset, tuple[int, ...]]:
        """The test rows of the selection: their dataset, and which rows of it."""
        answers = self.result.test_answers
        if answers.rows:
            return KnownDataset(self.test_dataset_id), answers.rows
        raise Unprocessable.at(
            "/dataset_id", "the test rows of the selection are not known; send rows, or name a `dataset_id`"
        )


def _read(services: Services, owner_id: str, body: Body) -> tuple[EvaluationRequest, Labelled | None]:
    """The request, and the rows; None for the test rows of the selection."""
    limits = parsing_limits(services.settings)
    if isinstance(body, FormBody):
        wanted = read_model(EvaluationRequest, body.spec, "spec")
        with invalid_inputs():
            return wanted, body.parse("dataset", limits, body.columns)
    given = read_model(EvaluationBody, body.value)
    if given.examples is not None:
        with invalid_inputs():
            return given.spec, parse_inline(given.examples, limits, columns=name_columns(given.columns))
    if given.dataset_id is None:
        return given.spec, None
    return given.spec, find_dataset(services, owner_id, given.dataset_id, "dataset_id")


def _check_request(
    found: _Found, wanted: EvaluationRequest, rows: Labelled | None, settings: Settings
) -> tuple[Changes, str | None]:
    """How it is asked otherwise, and the name of the model; None for a bag of words."""
    own = found.asked.model
    model = None if own is None else check_model_name(wanted.model or own.model, settings)
    changes = Changes(wanted.form, wanted.num_prompts, is_other_model=own is not None and model != own.model)
    with invalid_inputs(dataset=rows):
        check_changes(found.subject, changes)
        if rows is not None:
            # Refuses a label that the selection did not have.
            join_labels(found.asked.labels, leave_out(found.asked.task, rows.examples)[0])
    if isinstance(found.subject, Classifier):
        if wanted.orders:
            raise Unprocessable.at("/spec/orders", "a classifier has no other orders; leave `orders` out")
        if wanted.fixed:
            raise Unprocessable.at("/spec/fixed", "a classifier has no other form; leave `fixed` out")
    return changes, model


def _check_size(found: _Found, wanted: EvaluationRequest, num_rows: int, model: str | None, settings: Settings) -> None:
    """Refuse to ask for more than the service allows."""
    orders, num_prompts = wanted.orders, wanted.num_prompts or len(found.asked.prompts)
    if orders * num_rows > MOST_REORDERED:
        raise Unprocessable.at(
            "/spec/orders",
            f"{orders} other orders of {num_rows:,} rows are more than {MOST_REORDERED:,} answers, which an "
            "evaluation does not keep; judge fewer orders or rows",
        )
    check_asking(found.asked, model, (1 + orders) * num_rows, num_prompts, settings)


def present(session: Session, job: Job, queue: QueueOut | None) -> EvaluationOut:
    """Build the API's view of an evaluation."""
    report = repository.find_report(session, job.id)
    values = read_columns(job, EvaluationOut.model_fields, queue)
    spec = {name: job.spec[name] for name in EvaluationView.model_fields}
    return EvaluationOut.model_validate({**values, "spec": spec, "result": None if report is None else report.result})


VIEW = View(
    kind="evaluation",
    summary=EvaluationSummary,
    out=EvaluationOut,
    page=EvaluationPage,
    present=present,
    keeps="the answers so far",
    resumes="It goes on after the last row that has an answer.",
    has_source=True,
)
life = JobRoutes(VIEW).router

"""A file that is dropped on the page of a prompt: what is live is judged on newer texts, or labels the texts."""

import json
from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple
from uuid import uuid4

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, ServicesDep, make_id_reader
from app.intake.bodies import FormBody
from app.intake.parts import COLUMN_PARTS, DIALECT_PARTS
from app.intake.receiving import Upload, receive
from app.intake.submitting import Check, submit
from app.jobs import service as jobs
from app.kinds.evaluation import check_evaluation
from app.kinds.prediction import check_prediction, find_in_prompt
from app.lifecycle.enqueueing import enqueueing
from app.pages.live import WAITS, say_waiting
from app.pages.rendering import answer, go_to
from app.pages.trying import PredictionIdDep
from app.prompts import service
from app.prompts.parameters import NameDep
from app.prompts.schemas import PromptVersionOut
from app.prompts.service import present
from app.services import Services
from app.store.states import Status

router = APIRouter(prefix="/pages/prompts", dependencies=OWNER_ROUTE, include_in_schema=False)

EvaluationIdDep = Annotated[str, make_id_reader("evaluation", "ev")]
FileDep = Annotated[Upload, receive("dataset", *COLUMN_PARTS)]
TextsDep = Annotated[Upload, receive("texts", "text_column", *DIALECT_PARTS)]


@router.post("/{name}/evaluations")
def evaluate(request: Request, name: NameDep, file: FileDep, owner: OwnerDep, services: ServicesDep) -> HTMLResponse:
    """Begin to judge what is live on a file of newer texts."""
    current = _read_current(services, owner, name)
    return _begin(request, current, file, "evaluation", partial(check_evaluation, current.selection_id or ""))


@router.post("/{name}/predictions")
def predict(request: Request, name: NameDep, file: TextsDep, owner: OwnerDep, services: ServicesDep) -> HTMLResponse:
    """Begin to label the texts of a file by what is live."""
    current = _read_current(services, owner, name)
    return _begin(request, current, file, "prediction", partial(check_prediction, partial(find_in_prompt, name)))


def _read_current(services: Services, owner: str, name: str) -> PromptVersionOut:
    with services.database.session_scope() as session:
        return present(service.get(session, owner, name))


def _begin(request: Request, current: PromptVersionOut, file: Upload, kind: str, check: Check) -> HTMLResponse:
    """Submit a job of the classifier where it is the better answer, or else of the prompt."""
    by_classifier = current.recommended is False and current.head is not None
    assert isinstance(file.body, FormBody)
    spec = json.dumps({"prompts": "classifier" if by_classifier else "support_examples"}).encode()
    asked = replace(file, body=replace(file.body, raw_spec=spec))
    accepted = asked.do(partial(submit, key=uuid4().hex, check=check))
    shown = _show_job(request, current.name, kind, accepted.answer["id"], _Standing("queued", WAITS))
    shown.background = enqueueing(request.app.state.services, accepted.job_id)
    return shown


@router.get("/{name}/evaluations/{evaluation_id}")
def show_evaluation(
    request: Request, name: NameDep, evaluation_id: EvaluationIdDep, owner: OwnerDep, services: ServicesDep
) -> HTMLResponse:
    """How an evaluation goes; the page of the prompt anew when it has ended."""
    found = _read_standing(services, owner, "evaluation", evaluation_id)
    if found.status == Status.SUCCEEDED:
        return go_to(request, f"/pages/prompts/{name}")
    return _show_job(request, name, "evaluation", evaluation_id, found)


@router.get("/{name}/predictions/{prediction_id}")
def show_prediction(
    request: Request, name: NameDep, prediction_id: PredictionIdDep, owner: OwnerDep, services: ServicesDep
) -> HTMLResponse:
    """How a prediction goes; its file when it has ended."""
    found = _read_standing(services, owner, "prediction", prediction_id)
    return _show_job(request, name, "prediction", prediction_id, found)


class _Standing(NamedTuple):
    """How a job goes."""

    status: str
    said: str
    error: str | None = None


def _read_standing(services: Services, owner: str, kind: str, job_id: str) -> _Standing:
    with services.database.session_scope() as session:
        job = jobs.get(session, owner, kind, job_id)
        return _Standing(job.status, say_waiting(job, "The texts are read …"), (job.error or {}).get("detail"))


def _show_job(request: Request, name: str, kind: str, job_id: str, found: _Standing) -> HTMLResponse:
    return answer(request, "job.html", job_id=job_id, kind=kind, name=name, **found._asdict())

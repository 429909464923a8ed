"""A text that is tried on a page: its prompt at once, or its answer by a prediction of one row."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse

from app.answers.finding import Finder, render
from app.answers.indexes import Indexes, IndexesDep
from app.answers.schemas import RenderBody
from app.dependencies import OWNER_ROUTE, OwnerDep, SelectionIdDep, ServicesDep, make_id_reader
from app.intake.bodies import JsonBody
from app.intake.submitting import submit
from app.jobs import service as jobs
from app.kinds.prediction import check_prediction, find_in_prompt, find_in_selection
from app.lifecycle.enqueueing import enqueueing
from app.pages.fields import FieldsDep, read_field
from app.pages.live import WAITS, say_waiting
from app.pages.rendering import answer
from app.prompts.finding import PromptFinder
from app.prompts.parameters import NameDep
from app.selections.finding import SelectionFinder
from app.services import Services
from app.store.rows import read_predictions
from app.store.states import TERMINAL, Status
from app.web.validation import read_model

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)

PredictionIdDep = Annotated[str, make_id_reader("prediction", "pr")]
_BY = {"classifier": "by the classifier", "support_examples": "by the prompt"}


@router.post("/selections/{selection_id}/try")
async def try_selection(
    request: Request,
    selection_id: SelectionIdDep,
    fields: FieldsDep,
    owner: OwnerDep,
    services: ServicesDep,
    indexes: IndexesDep,
) -> HTMLResponse:
    """The prompt of a selection for a text, as it was evaluated; or begin to ask for the answer."""
    finder = SelectionFinder(services, owner, selection_id)
    return await _try(request, fields, finder, indexes, partial(find_in_selection, selection_id))


@router.post("/prompts/{name}/try")
async def try_prompt(
    request: Request, name: NameDep, fields: FieldsDep, owner: OwnerDep, services: ServicesDep, indexes: IndexesDep
) -> HTMLResponse:
    """The prompt that is live for a text; or begin to ask for the answer."""
    return await _try(request, fields, PromptFinder(services, owner, name), indexes, partial(find_in_prompt, name))


async def _try(
    request: Request, fields: FormData, finder: Finder, indexes: Indexes, find: Callable[..., Any]
) -> HTMLResponse:
    text, by = read_field(fields, "input"), read_field(fields, "by")
    if by not in _BY:
        wanted = read_model(RenderBody, {"input": text, "use": read_field(fields, "use") or None})
        return answer(request, "tried.html", found=await render(finder, indexes, wanted))
    services: Services = request.app.state.services
    body = JsonBody({"texts": [text], "spec": {"prompts": by}, "name": "tried on a page"})
    check = partial(check_prediction, find)
    accepted = await run_in_threadpool(submit, services, request.state.owner_id, body, key=uuid4().hex, check=check)
    shown = answer(request, "answer.html", job_id=accepted.answer["id"], status=Status.QUEUED, said=WAITS, by=_BY[by])
    shown.background = enqueueing(services, accepted.job_id)
    return shown


@router.get("/answers/{prediction_id}")
def show_answer(
    request: Request, prediction_id: PredictionIdDep, owner: OwnerDep, services: ServicesDep, by: str = ""
) -> HTMLResponse:
    """The answer for the text that was tried, once it is there."""
    with services.database.session_scope() as session:
        job = jobs.get(session, owner, "prediction", prediction_id)
        found = read_predictions(session, prediction_id, 0, 1) if Status(job.status) in TERMINAL else []
        error = (job.error or {}).get("detail")
        shown: dict[str, Any] = {"status": Status(job.status), "said": say_waiting(job, "Asking …")}
    one = found[0] if found else None
    return answer(request, "answer.html", job_id=prediction_id, **shown, found=one, error=error, by=by[:40])

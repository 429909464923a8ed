"""Pages of names: what each says, its history, the way back, and evaluations over time."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, ServicesDep
from app.ids import encode_cursor
from app.pages.creation import FieldsDep, read_field
from app.pages.rendering import answer, go_to
from app.prompts import service
from app.prompts.parameters import get_name
from app.prompts.schemas import PromptBody, PromptVersionOut
from app.prompts.service import Change, Condition, present
from app.store import prompts as repository
from app.store.states import Status
from app.store.tables import Job, Report
from app.web.parameters import read_number
from app.web.rate_limits import SUBMISSION_LIMIT
from app.web.validation import read_model
from lens_engine.exports import FORMATS
from lens_engine.show.charts import Bar, draw_accuracies

router = APIRouter(prefix="/pages/prompts", dependencies=OWNER_ROUTE, include_in_schema=False)

NameDep = Annotated[str, Depends(get_name)]
_MOST_VERSIONS = 100
_MOST_EVALUATIONS = 30


@router.get("")
def show_names(request: Request, owner: OwnerDep, services: ServicesDep, page: PageDep) -> HTMLResponse:
    """The names of an owner, with what they say."""
    with services.database.session_scope() as session:
        found = [present(one) for one in repository.list_names(session, owner, page.last_id, page.limit)]
    items = found[: page.limit]
    cursor = encode_cursor(items[-1].name) if len(found) > page.limit else None
    return answer(request, "prompts.html", names=items, cursor=cursor, is_first=page.last_id is None)


@router.get("/{name}")
def show_name(request: Request, name: NameDep, owner: OwnerDep, services: ServicesDep) -> HTMLResponse:
    """One name: what it says now, its versions, and how evaluations judged them."""
    with services.database.session_scope() as session:
        current = present(service.get(session, owner, name))
        history = repository.list_versions(session, owner, name, None, _MOST_VERSIONS)[:_MOST_VERSIONS]
        versions = [present(one) for one in history]
        evaluations = _list_evaluations(session, owner, versions)
    bars = [
        Bar(f"{one['at']:%Y-%m-%d}, version {one['version']}", one["accuracy"], *one["ci95"]) for one in evaluations
    ]
    chart = draw_accuracies(bars, name="evaluations") if bars else None
    shown: dict[str, Any] = {"current": current, "versions": versions, "evaluations": evaluations, "chart": chart}
    return answer(request, "production.html", formats=FORMATS, **shown)


@router.post("/{name}/back", dependencies=[SUBMISSION_LIMIT])
def roll_back(
    request: Request, name: NameDep, fields: FieldsDep, owner: OwnerDep, services: ServicesDep
) -> HTMLResponse:
    """Let a name say again what an earlier version said, if it is still the version that the page showed."""
    condition, back = Condition(f'"{read_field(fields, "current")}"', None), read_field(fields, "version")
    body = read_model(PromptBody, {"version": read_number(back, 9) or back, "note": f"back to version {back[:9]}"})
    Change(services, owner, name, condition, request.state.key_name).put(body)
    return go_to(request, f"/pages/prompts/{name}")


def _list_evaluations(session: Session, owner: str, versions: list[PromptVersionOut]) -> list[dict[str, Any]]:
    """The newest evaluations of what the versions say, oldest first."""
    version_of: dict[str, int] = {}
    for one in versions:  # newest first: a version that came back has its newest number
        if one.selection_id is not None:
            version_of.setdefault(one.selection_id, one.version)
    source, quality = Job.source["selection_id"].astext, Report.result["quality"]
    columns = select(Job.id, Job.name, Job.succeeded_at, source, quality)
    query = columns.join(Report, Report.job_id == Job.id).where(source.in_(version_of), quality.is_not(None))
    own = (Job.owner_id == owner, Job.kind == "evaluation", Job.status == Status.SUCCEEDED)
    rows = session.execute(query.where(*own).order_by(Job.id.desc()).limit(_MOST_EVALUATIONS)).all()
    return [
        {"id": id_, "name": name, "at": at, "version": version_of[selection], **found}
        for id_, name, at, selection, found in reversed(rows)
    ]

"""Pages of prompts in production: what is live, how to ask it, how good it is, and how it is changed."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from app.answers.indexes import IndexesDep
from app.answers.stored import PromptPart
from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, ServicesDep
from app.errors import NotFound
from app.ids import encode_cursor
from app.pages.comparing import list_version, tabulate_changes
from app.pages.creation import FILE_TYPES
from app.pages.fields import FieldsDep, read_field
from app.pages.rendering import answer, go_to, root_of
from app.prompts import service
from app.prompts.examples import PoolChange
from app.prompts.finding import PromptFinder
from app.prompts.parameters import NameDep
from app.prompts.schemas import ExamplesBody, PromptBody, PromptVersionOut
from app.prompts.service import Change, Condition, present
from app.services import Services
from app.store import prompts as repository
from app.store.tables import Dataset, Job
from app.web.parameters import read_number
from app.web.validation import read_model
from lens_engine.exports import FORMATS
from lens_engine.retrieval.pool import PoolRow
from lens_engine.show.charts import Bar, draw_accuracies
from lens_engine.show.sentences import warn_of_random
from lens_engine.show.words import PROMPT_PRICE

router = APIRouter(prefix="/pages/prompts", dependencies=OWNER_ROUTE, include_in_schema=False)

_MOST_VERSIONS = 100
_MOST_EVALUATIONS = 30
_MOST_EXAMPLES = 200


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
    """One prompt: what is live, how to ask it, how good it is on newer texts, its examples and its versions."""
    with services.database.session_scope() as session:
        current = present(service.get(session, owner, name))
        history = repository.list_versions(session, owner, name, None, _MOST_VERSIONS)[:_MOST_VERSIONS]
        versions = [present(one) for one in history]
        evaluations = _list_evaluations(session, owner, name)
        file = _find_file(session, owner, current.selection_id)
        labels = PromptFinder(services, owner, name).read_current(session).labels if current.pool_rows else ()
    bars = [
        Bar(f"{one['at']:%Y-%m-%d}, version {one['version']}", quality["accuracy"], low, high, quality["n"])
        for one in evaluations
        for quality in [one["quality"]]
        for low, high in [quality["ci95"]]
    ]
    chart = draw_accuracies(bars, name="evaluations", order=False) if bars else None
    shown: dict[str, Any] = {"current": current, "versions": versions, "evaluations": evaluations, "chart": chart}
    return answer(
        request,
        "production.html",
        None,
        **shown,
        formats=FORMATS,
        figures=_list_figures(current),
        file=file,
        labels=labels,
        host=f"{request.url.scheme}://{request.url.netloc}",
        is_open=request.state.key_name is None,
        types=FILE_TYPES,
    )


def _list_figures(current: PromptVersionOut) -> list[tuple[str, float, str]]:
    """Name, share and note of each figure; what to use first."""
    found = [("Prompt", current.accuracy, PROMPT_PRICE), ("Classifier", current.classifier_accuracy, "")]
    if current.recommended is False:
        found.reverse()
    found.append(("Most frequent label", current.largest_class, "always the same answer"))
    return [(name, share, note) for name, share, note in found if share is not None]


def _find_file(session: Session, owner: str, selection_id: str | None) -> str | None:
    """Name of the selection, or of its file; None if the selection is gone."""
    columns = select(func.coalesce(Job.name, Dataset.name, Job.id)).join(Dataset, Dataset.id == Job.dataset_id)
    return session.scalar(columns.where(Job.id == selection_id, Job.owner_id == owner))


@router.get("/{name}/changes")
def show_changes(
    request: Request, name: NameDep, owner: OwnerDep, services: ServicesDep, version: Annotated[int, Query(ge=1)]
) -> HTMLResponse:
    """What changes if an earlier version is live again."""
    with services.database.session_scope() as session:
        current = present(service.get(session, owner, name))
        found = repository.find_content(session, owner, name, version)
        if found is None:
            raise NotFound(f"{name} has no version {version}, or it was deleted since")
        then, shown = present(found[0]), PromptPart.model_validate(found[1].result).answer_for(None)
    return answer(
        request,
        "changes.html",
        current=current,
        changes=tabulate_changes(list_version(current), list_version(then)),
        warning=warn_of_random(shown),
        action=f"{root_of(request)}/pages/prompts/{name}/back",
        fields={"current": current.version, "version": version},
        does=f"Go back to version {version}",
    )


@router.post("/{name}/back")
def roll_back(
    request: Request, name: NameDep, fields: FieldsDep, owner: OwnerDep, services: ServicesDep
) -> HTMLResponse:
    """Let an earlier version be live again, if the live one is still that which the page showed."""
    back = read_field(fields, "version")
    body = read_model(PromptBody, {"version": read_number(back, 9) or back, "note": f"back to version {back[:9]}"})
    _change(request, services, owner, name, read_field(fields, "current")).put(body)
    return go_to(request, f"/pages/prompts/{name}")


def _change(request: Request, services: Services, owner: str, name: str, version: str) -> Change:
    """A change of the version that the page showed."""
    return Change(services, owner, name, Condition(f'"{version}"', None), request.state.key_name)


@router.get("/{name}/examples")
async def show_examples(
    request: Request, name: NameDep, owner: OwnerDep, services: ServicesDep, indexes: IndexesDep
) -> HTMLResponse:
    """The examples that the prompt may show, those that were added first."""

    def read() -> tuple[int, int, list[PoolRow]]:
        with services.database.session_scope() as session:
            found = PromptFinder(services, owner, name).read_current(session)
            if found.pool is None:
                return found.version.version, 0, []
            first_added = found.pool.find_first_added(session)
        pool = indexes.load(found.pool.source)
        return found.version.version, first_added, sorted(pool.rows, key=lambda one: (one.row < first_added, one.row))

    version, first_added, rows = await run_in_threadpool(read)
    shown = [{"row": one.row, "text": one.text, "label": one.label, "added": one.row >= first_added} for one in rows]
    more = max(0, len(shown) - _MOST_EXAMPLES)
    url = f"{root_of(request)}/pages/prompts/{name}"
    return answer(request, "pool.html", rows=shown[:_MOST_EXAMPLES], more=more, url=url, name=name, version=version)


@router.post("/{name}/examples")
async def add_example(
    request: Request, name: NameDep, fields: FieldsDep, owner: OwnerDep, services: ServicesDep, indexes: IndexesDep
) -> HTMLResponse:
    """Add a labelled text, which the next prompt may show."""
    one = {"text": read_field(fields, "text"), "label": read_field(fields, "label")}
    body = read_model(ExamplesBody, {"examples": [one], "note": "added on the page"})
    change = _change(request, services, owner, name, read_field(fields, "version"))
    await run_in_threadpool(PoolChange(change, indexes).add, body)
    return go_to(request, f"/pages/prompts/{name}")


@router.post("/{name}/examples/{row}/out")
async def take_example_out(
    request: Request,
    name: NameDep,
    row: Annotated[int, Path(ge=0, le=2**31 - 1)],
    fields: FieldsDep,
    owner: OwnerDep,
    services: ServicesDep,
    indexes: IndexesDep,
) -> HTMLResponse:
    """Take a text out; no later prompt shows it."""
    change = _change(request, services, owner, name, read_field(fields, "version"))
    await run_in_threadpool(PoolChange(change, indexes).take_out, row, "taken out on the page")
    return go_to(request, f"/pages/prompts/{name}")


def _list_evaluations(session: Session, owner: str, name: str) -> list[dict[str, Any]]:
    """The newest figures that were kept of a name, oldest first."""
    found = repository.list_evaluations(session, owner, name, None, _MOST_EVALUATIONS)[:_MOST_EVALUATIONS]
    return [{"title": one.title, "at": one.created_at, "version": one.version, **one.result} for one in reversed(found)]

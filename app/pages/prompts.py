"""Pages of prompts in production: what is live, how to ask it, how good it is, and how it is changed."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from app.answers.answers import IndexesDep, PromptPart
from app.errors import NotFound
from app.pages.creation import FILE_TYPES
from app.pages.fields import FieldsDep, read_field
from app.pages.rendering import VisitDep
from app.pages.results import list_version, tabulate_changes, warn_of_unjudged
from app.prompts import service
from app.prompts.endpoints import NameDep, RowDep, TurnDep
from app.prompts.examples import PoolChange
from app.prompts.finding import PromptFinder
from app.prompts.schemas import ExamplesBody, PromptBody, PromptVersionOut
from app.prompts.service import present
from app.store import prompts as repository
from app.store.tables import Dataset, Job
from app.web.dependencies import OWNER_ROUTE, PageDep
from app.web.parameters import read_number
from app.web.validation import read_model
from lens_engine.prompt.pool import PoolRow
from lens_engine.show.charts import Bar, draw_accuracies
from lens_engine.show.exports import FORMATS
from lens_engine.show.words import PROMPT_PRICE

router = APIRouter(prefix="/pages/prompts", dependencies=OWNER_ROUTE, include_in_schema=False)

_MOST_VERSIONS = 100
_MOST_EVALUATIONS = 30
_MOST_EXAMPLES = 200


@router.get("")
def show_names(visit: VisitDep, page: PageDep) -> HTMLResponse:
    """The names of an owner, with what they say."""
    with visit.services.database.session_scope() as session:
        found = [present(one) for one in repository.list_names(session, visit.owner, page.last_id, page.limit)]
    items, cursor = page.cut(found, lambda one: one.name)
    return visit.answer("prompts.html", names=items, cursor=cursor, is_first=page.last_id is None)


@router.get("/{name}")
def show_name(visit: VisitDep, name: NameDep) -> HTMLResponse:
    """One prompt: what is live, how to ask it, how good it is on newer texts, its examples and its versions."""
    owner, services = visit.owner, visit.services
    with services.database.session_scope() as session:
        current = present(service.get(session, owner, name))
        history = repository.list_versions(session, owner, name, None, _MOST_VERSIONS)[:_MOST_VERSIONS]
        versions = [present(one) for one in history]
        kept = repository.list_evaluations(session, owner, name, None, _MOST_EVALUATIONS)[:_MOST_EVALUATIONS][::-1]
        evaluations = [{"title": one.title, "at": one.created_at, "version": one.version, **one.result} for one in kept]
        file = _find_file(session, owner, current.selection_id)
        labels = PromptFinder(services, owner, name).read_current(session).labels if current.pool_rows else ()
    bars = [
        Bar(f"{one['at']:%Y-%m-%d}, version {one['version']}", found["accuracy"], low, high, found["n"])
        for one in evaluations
        for found, (low, high) in [(one["quality"], one["quality"]["ci95"])]
    ]
    chart = draw_accuracies(bars, name="evaluations") if bars else None
    shown: dict[str, Any] = {"current": current, "versions": versions, "evaluations": evaluations, "chart": chart}
    return visit.answer(
        "production.html",
        None,
        **shown,
        formats=FORMATS,
        figures=_list_figures(current),
        file=file,
        labels=labels,
        host=f"{visit.request.url.scheme}://{visit.request.url.netloc}",
        is_open=visit.request.state.key_name is None,
        types=FILE_TYPES,
    )


def _list_figures(current: PromptVersionOut) -> list[tuple[str, float, str]]:
    """Name, share and note of each figure; what to use first."""
    found = [("Prompt", current.accuracy, PROMPT_PRICE), ("Classifier", current.classifier_accuracy, "")]
    if current.first != "prompt":
        found.reverse()
    found.append(("Most frequent label", current.largest_class, "always the same answer"))
    return [(name, share, note) for name, share, note in found if share is not None]


def _find_file(session: Session, owner: str, selection_id: str | None) -> str | None:
    """Name of the selection, or of its file; None if the selection is gone."""
    columns = select(func.coalesce(Job.name, Dataset.name, Job.id)).join(Dataset, Dataset.id == Job.dataset_id)
    return session.scalar(columns.where(Job.id == selection_id, Job.owner_id == owner))


@router.get("/{name}/changes")
def show_changes(visit: VisitDep, name: NameDep, version: Annotated[int, Query(ge=1)]) -> HTMLResponse:
    """What changes if an earlier version is live again."""
    with visit.services.database.session_scope() as session:
        current = present(service.get(session, visit.owner, name))
        found = repository.find_content(session, visit.owner, name, version)
        if found is None:
            raise NotFound(f"{name} has no version {version}, or it was deleted since")
        then, shown = present(found[0]), PromptPart.model_validate(found[1].result).answer_for(None)
    return visit.answer(
        "changes.html",
        current=current,
        changes=tabulate_changes(list_version(current), list_version(then)),
        warning=warn_of_unjudged(shown),
        action=f"{visit.root}/pages/prompts/{name}/back",
        fields={"current": current.version, "version": version},
        does=f"Go back to version {version}",
    )


@router.post("/{name}/back")
def roll_back(visit: VisitDep, name: NameDep, fields: FieldsDep) -> HTMLResponse:
    """Let an earlier version be live again, if the live one is still that which the page showed."""
    back = read_field(fields, "version")
    body = read_model(PromptBody, {"version": read_number(back, 9) or back, "note": f"back to version {back[:9]}"})
    visit.change(name, read_field(fields, "current")).put(body)
    return visit.go_to(f"/pages/prompts/{name}")


@router.get("/{name}/examples")
def show_examples(visit: VisitDep, name: NameDep, indexes: IndexesDep, _: TurnDep) -> HTMLResponse:
    """The examples that the prompt may show, those that were added first."""
    first_added, rows = 0, tuple[PoolRow, ...]()
    with visit.services.database.session_scope() as session:
        found = PromptFinder(visit.services, visit.owner, name).read_current(session)
        if found.pool is not None:
            first_added = found.pool.find_first_added(session)
    if found.pool is not None:
        rows = indexes.load(found.pool.source).rows
    newest_first = sorted(rows, key=lambda one: (one.row < first_added, one.row))[:_MOST_EXAMPLES]
    shown = [
        {"row": one.row, "text": one.text, "label": one.label, "added": one.row >= first_added} for one in newest_first
    ]
    about = {"url": f"{visit.root}/pages/prompts/{name}", "name": name, "version": found.version.version}
    return visit.answer("pool.html", None, rows=shown, more=len(rows) - len(shown), **about)


@router.post("/{name}/examples")
def add_example(visit: VisitDep, name: NameDep, fields: FieldsDep, indexes: IndexesDep, _: TurnDep) -> HTMLResponse:
    """Add a labelled text, which the next prompt may show."""
    one = {"text": read_field(fields, "text"), "label": read_field(fields, "label")}
    body = read_model(ExamplesBody, {"examples": [one], "note": "added on the page"})
    PoolChange(visit.change(name, read_field(fields, "version")), indexes).add(body)
    return visit.go_to(f"/pages/prompts/{name}")


@router.post("/{name}/examples/{row}/out")
def take_example_out(
    visit: VisitDep, name: NameDep, row: RowDep, fields: FieldsDep, indexes: IndexesDep, _: TurnDep
) -> HTMLResponse:
    """Take a text out; no later prompt shows it."""
    change = visit.change(name, read_field(fields, "version"))
    PoolChange(change, indexes).take_out(row, "taken out on the page")
    return visit.go_to(f"/pages/prompts/{name}")

"""What a page shows of a result, and what one can do with it: production, a look beside another."""

import re
from dataclasses import replace
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from app.answers import results
from app.answers.answers import IndexesDep, render
from app.answers.classifying import ClassifyingDep, classify
from app.answers.results import find_selection
from app.answers.schemas import ClassifyBody, RenderBody
from app.errors import BadRequest, NoResult, NotFinished, Unavailable
from app.ids import NAME, is_id
from app.pages.comparing import (
    Changed,
    compare_facts,
    compare_figures,
    list_changed,
    list_version,
    tabulate_changed,
    tabulate_changes,
    warn_of_unjudged,
)
from app.pages.creation import FILE_TYPES
from app.pages.fields import FieldsDep, find_sizes, read_field
from app.pages.rendering import Visit, VisitDep
from app.pages.rows import list_suspicious
from app.prompts.answer_endpoints import FinderDep
from app.prompts.endpoints import find_prompt
from app.prompts.schemas import PromptBody
from app.prompts.service import present, summarise
from app.selections import service
from app.store.datasets import load_texts
from app.store.prompts import find_current, list_names
from app.store.services import Services
from app.store.tables import Job
from app.web.dependencies import OWNER_ROUTE, SelectionIdDep
from app.web.validation import read_model
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import list_headlines
from lens_engine.show.exports import FORMATS
from lens_engine.show.glossary import GLOSSARY
from lens_engine.show.report import ResultView
from lens_engine.show.table import Table

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)

_NO_NAME = re.compile(r"[^\w.-]+")
_MOST_NAMES = 200
_FORMS = (("text", "Text"), ("openai-chat", "OpenAI"), ("anthropic", "Anthropic"))
"""Forms of the prompt that stand first, with their names."""


def describe_result(services: Services, job: Job) -> dict[str, Any]:
    """What the page of a selection shows of its result; `view` is None without one."""
    with services.database.session_scope() as session:
        names = [one.name for one in list_names(session, job.owner_id, None, _MOST_NAMES)]
    view = _find_view(services, job)
    warning = "" if view is None else warn_of_unjudged(view.result.answer)
    shown: dict[str, Any] = {"view": view, "names": names, "formats": FORMATS, "forms": _FORMS, "warning": warning}
    if view is not None:  # whose table of suspicious labels has fields to correct them
        shown |= {"suspicious": replace(view.suspicious, tables=()), "lines": list_suspicious(view)}
        shown["judged"] = next((one.expected.n for one in list_headlines(view.result)), None)
    return shown | {"types": FILE_TYPES, "key": uuid4().hex}


def _find_view(services: Services, job: Job) -> ResultView | None:
    try:
        return results.get_view(services, job.owner_id, job.id)
    except (NoResult, NotFinished):
        return None


@router.post("/selections/{selection_id}/names")
def promote(visit: VisitDep, selection_id: SelectionIdDep, fields: FieldsDep) -> HTMLResponse:
    """Put what a selection found into production.

    Over another version only after a look at what changes; a prompt that was not judged only after a warning.
    """
    note, version = read_field(fields, "note"), read_field(fields, "version")
    name = _write_name(read_field(fields, "name"))
    if not NAME.fullmatch(name):
        raise BadRequest("a prompt needs a name of letters, digits, dots and dashes, such as ticket-router")
    if not version and not read_field(fields, "sure"):
        with visit.services.database.session_scope() as session:
            current = find_current(session, visit.owner, name)
        job = _get(visit, selection_id)
        view = _find_view(visit.services, job)
        warning = "" if view is None else warn_of_unjudged(view.result.answer)
        if current is not None or warning:
            shown = None if current is None else present(current)
            version_field = {"sure": "yes"} if shown is None else {"version": shown.version}
            return visit.answer(
                "changes.html",
                current=shown,
                changes=None if shown is None else tabulate_changes(list_version(shown), _list_new(job, view)),
                warning=warning,
                action=f"{visit.root}/pages/selections/{selection_id}/names",
                fields={"name": name, "note": note, **version_field},
                does=f"Put {name} into production" if shown is None else f"Replace version {shown.version} of {name}",
            )
    body = read_model(PromptBody, {"selection_id": selection_id, "note": note or None})
    visit.change(name, version).put(body)
    return visit.go_to(f"/pages/prompts/{name}")


def _write_name(typed: str) -> str:
    return _NO_NAME.sub("-", typed.strip().lower()).strip("-.")


def _get(visit: Visit, selection_id: str) -> Job:
    with visit.services.database.session_scope() as session:
        return service.get(session, visit.owner, selection_id)


def _list_new(job: Job, view: ResultView | None) -> dict[str, str]:
    """What a selection would put into production."""
    if view is None:
        return {}
    return list_version(summarise(view.result, view.result.classifier, job.figures))


@router.get("/compare")
def compare(visit: VisitDep, of: Annotated[list[str], Query(default_factory=list, max_length=10)]) -> HTMLResponse:
    """Two selections, the older one first: the figures, the answers that changed, and what differs."""
    if len(of) != 2 or not all(map(is_id, of)):
        raise BadRequest("mark two finished selections in the list")
    before, after = sorted((_get(visit, one) for one in of), key=lambda job: job.created_at)
    views = [_find_view(visit.services, job) for job in (before, after)]
    if views[0] is None or views[1] is None:
        raise NoResult("one of the two selections has no result yet")
    first, second = views[0].result, views[1].result
    differ, same = compare_facts((before, after), (first, second))
    with visit.services.database.session_scope() as session:
        sizes = find_sizes(session, {before.dataset_id, after.dataset_id})
        changed = [
            (name, _tabulate_changed(session, before, first, list_changed(first, second, of_classifier=is_classifier)))
            for name, is_classifier in (("classifier", True), ("prompt", False))
        ]
    shown = {"figures": compare_figures(first, second), "changed": changed, "differ": differ, "same": same}
    names = [job.name or sizes[job.dataset_id].name or job.id for job in (before, after)]
    return visit.answer("compare.html", None, jobs=(before, after), names=names, **shown)


def _tabulate_changed(
    session: Session, job: Job, result: SelectionResult, found: list[Changed] | None
) -> list[Table | None] | None:
    if found is None:
        return None
    texts = load_texts(session, results.find_answered(job, result), [one.row for one in found])
    return [tabulate_changed(found, texts, is_better=is_better) for is_better in (False, True)]


@router.get("/words")
def show_words(visit: VisitDep) -> HTMLResponse:
    """What the words of the pages mean, and what papers and the API call it."""
    return visit.answer("words.html", words=GLOSSARY)


@router.post("/selections/{selection_id}/try", dependencies=[Depends(find_selection)])
@router.post("/prompts/{name}/try", dependencies=[Depends(find_prompt)])
async def try_text(
    visit: VisitDep, fields: FieldsDep, finder: FinderDep, indexes: IndexesDep, classifying: ClassifyingDep
) -> HTMLResponse:
    """The prompt for a text, as it was evaluated; or the answer."""
    text, by = read_field(fields, "input"), read_field(fields, "by")
    if by == "prompt":
        wanted = read_model(RenderBody, {"input": text, "use": read_field(fields, "use") or None})
        return visit.answer("tried.html", found=await render(finder, indexes, wanted))
    body = read_model(ClassifyBody, {"inputs": [text]})
    try:
        found = await classify(visit.request, finder, classifying, body)
    except Unavailable as error:
        if error.code != "model-loading":
            raise
        # The page asks again by itself.
        url, asked = f"{visit.root}/pages{finder.path}/try", {"input": text}
        return visit.answer("answer.html", found=None, waits=error.detail, url=url, asked=asked)
    return visit.answer("answer.html", found=found)

"""What a page shows of a result, and what one can do with it: new inputs, a name, a look at another beside it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from app.answers.finding import render
from app.answers.indexes import IndexesDep
from app.answers.schemas import RenderBody
from app.dependencies import OWNER_ROUTE, OwnerDep, SelectionIdDep, ServicesDep
from app.errors import BadRequest, NoResult, NotFinished, NotFound
from app.ids import NAME, is_id
from app.lifecycle.spec import StoredSpec
from app.pages.asked import list_asked
from app.pages.creation import FieldsDep, read_field
from app.pages.rendering import answer, go_to
from app.prompts.schemas import PromptBody
from app.prompts.service import Change, Condition, present
from app.selections import service
from app.selections.finding import SelectionFinder
from app.services import Services
from app.store.datasets import load_texts
from app.store.prompts import find_current, list_names
from app.store.tables import Job
from app.web.rate_limits import SUBMISSION_LIMIT
from app.web.validation import read_model
from lens_engine.classifier.quality import Quality
from lens_engine.exports import FORMATS
from lens_engine.show.charts import draw_accuracies
from lens_engine.show.report import ResultView, list_bars
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import say_largest_class, show_figure
from lens_engine.task.wording import describe_seconds

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)

_PLACES = ("first", "second")
_MOST_NAMES = 200
_FORMS = (("text", "Text"), ("openai-chat", "OpenAI"), ("anthropic", "Anthropic"), ("python", "Python"))
"""Forms of the prompt that stand first, with their names."""


def describe_result(services: Services, job: Job) -> dict[str, Any]:
    """What the page of a selection shows of its result; `view` is None without one."""
    with services.database.session_scope() as session:
        names = [one.name for one in list_names(session, job.owner_id, None, _MOST_NAMES)]
    return {"view": _find_view(services, job), "names": names, "formats": FORMATS, "forms": _FORMS}


def _find_view(services: Services, job: Job) -> ResultView | None:
    try:
        return service.get_view(services, job.owner_id, job.id)
    except (NoResult, NotFinished):
        return None


@router.get("/selections/{selection_id}/rows")
def show_rows(
    request: Request,
    selection_id: SelectionIdDep,
    owner: OwnerDep,
    services: ServicesDep,
    of: Annotated[str, Query(max_length=40)],
    gold: Annotated[int, Query(ge=0)],
    answered: Annotated[int, Query(ge=0, alias="answer")],
) -> HTMLResponse:
    """The test rows behind a cell of a confusion matrix, with their texts."""
    view = service.get_view(services, owner, selection_id)
    found = next((one for one in view.answered if one.name == of), None)
    if found is None or max(gold, answered) >= len(found.labels):
        raise NotFound("the result has no such cell")
    rows = [one.row for one in found.list_cell(gold, answered)]
    with services.database.session_scope() as session:
        job = service.get(session, owner, selection_id)
        texts = load_texts(session, job.test_dataset_id or job.dataset_id, rows)
    return answer(request, "rows.html", table=found.tabulate_cell(gold, answered, texts))


@router.post("/selections/{selection_id}/try")
async def try_input(
    request: Request,
    selection_id: SelectionIdDep,
    fields: FieldsDep,
    owner: OwnerDep,
    services: ServicesDep,
    indexes: IndexesDep,
) -> HTMLResponse:
    """The prompt for a new text, as it was evaluated."""
    body = read_model(RenderBody, {"input": read_field(fields, "input"), "use": read_field(fields, "use") or None})
    found = await render(SelectionFinder(services, owner, selection_id), indexes, body)
    return answer(request, "tried.html", found=found)


@router.post("/selections/{selection_id}/names", dependencies=[SUBMISSION_LIMIT])
def promote(
    request: Request, selection_id: SelectionIdDep, fields: FieldsDep, owner: OwnerDep, services: ServicesDep
) -> HTMLResponse:
    """Let a name say what this selection found; instead of a version only if the page showed that version."""
    name = read_field(fields, "name")
    if not NAME.fullmatch(name):
        raise BadRequest("a name has 1 to 100 lower-case letters, digits, dots, dashes and underscores")
    with services.database.session_scope() as session:
        current = find_current(session, owner, name)
    note, version = read_field(fields, "note"), read_field(fields, "version")
    if current is not None and not version:
        return answer(request, "replace.html", selection_id=selection_id, note=note, current=present(current))
    condition = Condition(f'"{version}"', None) if version else Condition(None, "*")
    body = read_model(PromptBody, {"selection_id": selection_id, "note": note or None})
    Change(services, owner, name, condition, request.state.key_name).put(body)
    return go_to(request, f"/pages/prompts/{name}")


@router.get("/compare")
def compare(
    request: Request,
    owner: OwnerDep,
    services: ServicesDep,
    of: Annotated[list[str], Query(default_factory=list, max_length=10)],
) -> HTMLResponse:
    """Two selections side by side."""
    if len(of) != 2 or not all(map(is_id, of)):
        raise BadRequest("mark two selections in the list, to see them side by side")
    with services.database.session_scope() as session:
        jobs = [service.get(session, owner, one) for one in of]
    views = [_find_view(services, job) for job in jobs]
    facts = [_list_facts(job, view) for job, view in zip(jobs, views, strict=True)]
    bars = [
        bar._replace(label=f"{place} · {bar.label}")
        for place, view in zip(_PLACES, views, strict=True)
        if view is not None
        for bar in list_bars(view.result)
    ]
    rows = tuple((name, *(one.get(name, NOTHING) for one in facts)) for name in facts[0] | facts[1])
    table = Table("Two selections", ("", *_PLACES), rows, words=("", *_PLACES))
    chart = draw_accuracies(bars) if bars else None
    return answer(request, "compare.html", jobs=jobs, table=table, chart=chart)


def _list_facts(job: Job, view: ResultView | None) -> dict[str, str]:
    """What two selections may differ in."""
    facts = {"name": job.name or job.id, **list_asked(StoredSpec.model_validate(job.spec))}
    if view is None:
        return facts | {"result": f"none: it is {job.status}"}
    result = view.result
    test, made = result.test, None if result.classifier is None else result.classifier.test
    return facts | {
        "what to use": result.verdict.sentence,
        "support examples": ", ".join(map(str, result.rows)),
        "accuracy of the prompt": _show(test),
        "accuracy of the classifier": _show(made),
        "test rows": "a file of their own" if result.provenance.test_sha256 else "held out of the dataset",
        "dataset": result.provenance.dataset_sha256[:12],
        "pairs": f"{result.cost.pairs:,}",
        "time": describe_seconds(result.cost.seconds),
    }


def _show(figure: Quality | None) -> str:
    """An accuracy beside that of the largest class, and macro-F1."""
    if figure is None:
        return NOTHING
    told = f"{figure.accuracy:.3f} on {figure.n} test rows, macro-F1 {show_figure(figure.macro_f1)}"
    return "; ".join([told, *say_largest_class(figure)])

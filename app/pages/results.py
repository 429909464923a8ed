"""What a page shows of a result, and what one can do with it: production, a look beside another."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple
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
from app.lifecycle.spec import StoredSpec
from app.pages.creation import FILE_TYPES
from app.pages.fields import FieldsDep, find_sizes, read_field, read_request
from app.pages.rendering import Visit, VisitDep
from app.pages.rows import list_suspicious
from app.prompts.answer_endpoints import FinderDep
from app.prompts.endpoints import find_prompt
from app.prompts.schemas import PromptBody, PromptSummary
from app.prompts.service import present, summarise
from app.selections import service
from app.store.datasets import load_texts
from app.store.prompts import find_current, list_names
from app.store.services import Services
from app.store.tables import Job
from app.web.dependencies import OWNER_ROUTE, SelectionIdDep
from app.web.validation import read_model
from lens_engine.classifier.quality import Accuracy
from lens_engine.prompt.wording import describe_seconds, show_count, show_percent, show_right, show_share
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.result.selection_result import list_headlines
from lens_engine.show.exports import FORMATS
from lens_engine.show.glossary import GLOSSARY
from lens_engine.show.report import ResultView
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import HEADLINES

_MOST_ROWS = 100
"""Largest number of changed answers that are listed."""


class Changed(NamedTuple):
    """A row that one of two answers rightly."""

    row: int
    label: str
    before: str
    after: str
    is_better: bool


def compare_figures(before: SelectionResult, after: SelectionResult) -> Table:
    """How often each is right, and the difference in points where the same rows judged, with the same labels."""
    first, second = ({one.kind: one.expected for one in list_headlines(result)} for result in (before, after))
    rows, is_alike = list[tuple[str, ...]](), _list_judged(before) == _list_judged(after)
    for kind, name in HEADLINES.items():
        one, other = first.get(kind), second.get(kind)
        if one is None and other is None:
            continue
        if one is None or other is None:
            points = NOTHING
        else:
            points = f"{100 * (other.accuracy - one.accuracy):+.0f} points" * (is_alike and one.n == other.n)
        told = ((one, before.is_tested), (other, after.is_tested))
        rows.append((name, *(_show_figure(found, is_test=is_test) for found, is_test in told), points))
    note = "no difference is told where other rows or labels judged" * any(not row[-1] for row in rows)
    return Table("How often each is right", ("", "baseline", "newer", "difference"), tuple(rows), caption=note)


def _show_figure(found: Accuracy | None, *, is_test: bool) -> str:
    """How many test texts are right; or else what to expect, which is no number of rows."""
    if found is None:
        return NOTHING
    if is_test:
        return show_right(found.accuracy, found.n)
    return f"{show_share(found.accuracy, found.n)}, by {show_count(found.n, 'row')}"


def compare_facts(jobs: tuple[Job, Job], results: tuple[SelectionResult, SelectionResult]) -> tuple[Table, Table]:
    """The facts in which two selections differ, and those that are the same."""
    facts = [_list_facts(job, result) for job, result in zip(jobs, results, strict=True)]
    rows = [(name, facts[0].get(name, NOTHING), facts[1].get(name, NOTHING)) for name in facts[0] | facts[1]]
    names = ("", "baseline", "newer")
    differ = tuple(row for row in rows if row[1] != row[2])
    same = tuple((name, value) for name, value, other in rows if value == other)
    alike = Table("The same in both", ("", "both"), same, words=("both",))
    return Table("What differs", names, differ, words=names), alike


def list_changed(before: SelectionResult, after: SelectionResult, *, of_classifier: bool) -> list[Changed] | None:
    """The rows that one answers rightly and the other does not; None where they have no rows in common."""
    if before.task.labels != after.task.labels or _find_origin(before) != _find_origin(after):
        return None
    first, second = (_answers_by_row(one, of_classifier) for one in (before, after))
    labels = before.task.labels
    found = [
        Changed(row, labels[gold], labels[old], labels[new], new == gold)
        for row, (gold, old) in first.items()
        if row in second and ((new := second[row][1]) == gold) != (old == gold)
    ]
    return found if set(first) & set(second) else None


def _find_origin(result: SelectionResult) -> str | None:
    """SHA-256 of the file that has the rows of the answers."""
    return result.provenance.test_sha256 if result.answers.is_test else result.provenance.dataset_sha256


def _list_judged(result: SelectionResult) -> tuple[object, ...]:
    """The rows of the answers, with their labels."""
    return _find_origin(result), result.task.labels, dict(zip(result.answers.rows, result.answers.gold, strict=True))


def _answers_by_row(result: SelectionResult, of_classifier: bool) -> Mapping[int, tuple[int, int]]:
    """Label and answer of each row that has an answer."""
    told = result.answers
    answers = told.classifier if of_classifier else next(iter(told.support_examples), None)
    found = zip(told.rows, told.gold, answers or (), strict=answers is not None)
    return {row: (gold, answer) for row, gold, answer in found if answer is not None}


def tabulate_changed(found: list[Changed], texts: Mapping[int, str], *, is_better: bool) -> Table | None:
    """The answers that became right, or wrong, with their texts; None without any."""
    own = [one for one in found if one.is_better is is_better]
    if not own:
        return None
    title = f"{'Right' if is_better else 'Wrong'} only in the newer: {len(own)}"
    rows = tuple((texts.get(one.row, str(one.row + 1)), one.label, one.before, one.after) for one in own[:_MOST_ROWS])
    names = ("text", "label", "baseline", "newer")
    return Table(title, names, rows, words=names, caption=f"the first {_MOST_ROWS}" * (len(own) > _MOST_ROWS))


def warn_of_unjudged(answer: SupportExamples) -> str:
    """That nobody knows how good a prompt is; nothing where it was judged."""
    return "" if answer.judged else "The run ended before it judged this prompt: nobody knows how good it is."


def list_version(one: PromptSummary) -> dict[str, str]:
    """What a version has in production."""
    shares = {"prompt right for": one.accuracy, "classifier right for": one.classifier_accuracy}
    figures = {name: NOTHING if share is None else f"{show_percent(share)} %" for name, share in shares.items()}
    return {**figures, "model": one.model or NOTHING, "examples": one.form or NOTHING}


def tabulate_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Table:
    """What is live beside what would be."""
    rows = tuple((name, value, after.get(name, NOTHING)) for name, value in before.items())
    return Table("What changes", ("", "live now", "then"), rows, words=("", "live now", "then"))


def _list_facts(job: Job, result: SelectionResult) -> dict[str, Any]:
    """What two selections may differ in."""
    origin, largest = result.provenance, result.expected and result.expected.largest_class
    return {
        "file": origin.dataset_sha256[:12],
        "test rows": "a file of their own" if origin.test_sha256 else NOTHING,
        **read_request(StoredSpec.model_validate(job.spec)).list_parts(),
        "form of the prompt": result.answer.form.name,
        "rows of the examples": ", ".join(str(row + 1) for row in result.rows) or NOTHING,
        "time": describe_seconds(result.cost.seconds),
        "pairs": f"{result.cost.pairs:,}",
        **({"always the most frequent label": show_share(largest, 1)} if largest else {}),
    }


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
    name = _NO_NAME.sub("-", read_field(fields, "name").strip().lower()).strip("-.")
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
            new = {} if view is None else list_version(summarise(view.result, view.result.classifier, job.figures))
            return visit.answer(
                "changes.html",
                current=shown,
                changes=None if shown is None else tabulate_changes(list_version(shown), new),
                warning=warning,
                action=f"{visit.root}/pages/selections/{selection_id}/names",
                fields={"name": name, "note": note, **version_field},
                does=f"Put {name} into production" if shown is None else f"Replace version {shown.version} of {name}",
            )
    body = read_model(PromptBody, {"selection_id": selection_id, "note": note or None})
    visit.change(name, version).put(body)
    return visit.go_to(f"/pages/prompts/{name}")


def _get(visit: Visit, selection_id: str) -> Job:
    with visit.services.database.session_scope() as session:
        return service.get(session, visit.owner, selection_id)


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

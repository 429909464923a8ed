"""Pages of selections: the list, one while it runs, and what its owner does with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query
from sqlalchemy import ColumnElement, func
from starlette.responses import HTMLResponse, Response

from app.lifecycle.spec import StoredSpec
from app.pages.fields import find_sizes, read_request
from app.pages.rendering import Visit, VisitDep
from app.pages.results import describe_result
from app.pages.shell import has_sample
from app.selections import service
from app.selections.schemas import JobState, ProgressOut, QueueOut, present_progress
from app.store.queue import JobId
from app.store.tables import TERMINAL, Event, Job, Status
from app.web.dependencies import OWNER_ROUTE, PageDep, SelectionIdDep
from app.web.parameters import KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from lens_engine.prompt.wording import show_count
from lens_engine.rows.dealing import SEARCH_FROM
from lens_engine.show.words import HEADLINES
from lens_engine.types import Phase

_LOADING = "Loading the model …"

_STEPS = {"Search": (Phase.FILTER, Phase.SEARCH), "Judge": (Phase.JUDGE, Phase.FIT), "Test": (Phase.TEST,)}
"""The steps that a page shows after reading, and the phases of each."""

_STATES = ("now", "stopped here", "stopped early", "done", "did not run", "to come")
"""What a step can be; of several phases that which stands first."""

_NOTES = {
    "resumed": "You had it queued again.",
    "stalled": "An attempt made no progress and was ended.",
    "worker-unfit": "A worker could not do its work.",
    "classifier": "The classifier is ready.",
}


@dataclass(frozen=True, slots=True)
class Note:
    """An event as a sentence."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """What a page says of a run."""

    sentence: str
    is_trouble: bool  #: the sentence names something that may need a person
    progress: ProgressOut | None
    phases: tuple[tuple[str, str], ...]  #: name and state: done, now, to come, or that it did not run to its end
    elapsed: float  #: seconds since the attempt began; 0 before
    notes: tuple[Note, ...]  #: newest first

    @property
    def percent(self) -> int:
        return 0 if self.progress is None else int(100 * self.progress.pairs_done / (self.progress.pairs_total or 1))


def describe_run(job: Job, place: QueueOut | None, events: Sequence[Event], num_rows: int) -> Run:
    """How a run goes. `events`: of the job, oldest first. `num_rows`: of its dataset."""
    progress = present_progress(job)
    sentence, is_trouble = _say_status(job, place)
    return Run(
        sentence=sentence,
        is_trouble=is_trouble,
        progress=progress,
        phases=tuple(_list_phases(job, progress, num_rows)),
        elapsed=0.0 if job.started_at is None else (datetime.now(UTC) - job.started_at).total_seconds(),
        notes=tuple(_list_notes(events))[::-1],
    )


def _say_status(job: Job, place: QueueOut | None) -> tuple[str, bool]:
    status = Status(job.status)
    if status is Status.QUEUED:
        return _say_queue(job, place)
    if status in (Status.RUNNING, Status.CANCELLING):
        if job.lease_until is not None and job.lease_until < datetime.now(UTC):
            return "The worker is silent. Another worker goes on from the last checkpoint within a minute or two.", True
        if status is Status.CANCELLING:
            return "It is asked to stop. It keeps the best examples that it has found.", False
        if job.status == Status.RUNNING and job.progress is None:
            return _LOADING, False
        return "Running." if job.attempt == 1 else f"Running. Attempt {job.attempt}.", False
    if status is Status.FAILED:
        unknown = f"the reason is in the log of the worker; look there for {job.id}"
        return f"It failed: {(job.error or {}).get('detail', unknown)}", True
    if status is Status.CANCELLED and job.partial is None:
        return "You stopped it before there was a result. Resume goes on where it stopped.", False
    return ("It is done." if status is Status.SUCCEEDED else "You stopped it. This is the best until then."), False


def _say_queue(job: Job, place: QueueOut | None) -> tuple[str, bool]:
    again = " Its worker ended in the middle." if job.crashes else ""
    if place is None or place.workers is None:
        where = "Redis does not answer, so nobody can say where it stands; it is stored, and starts later"
        return f"It waits. {where}.{again}", True
    if place.workers == 0:
        return f"It waits, and no worker is running. Ask who runs Lens, or start one with `lens worker`.{again}", True
    workers = f"{show_count(place.workers, 'worker')} take{'s' * (place.workers == 1)} such selections"
    if place.position is None:
        return f"It waits before the next attempt; {workers}.{again}", False
    before = f", after {show_count(place.position - 1, 'other job')}" if place.position > 1 else ""
    return f"It waits in the queue{before}; {workers}.{again}", False


def _list_phases(job: Job, progress: ProgressOut | None, num_rows: int) -> Iterator[tuple[str, str]]:
    searches = num_rows >= SEARCH_FROM and StoredSpec.model_validate(job.spec).config.rows.search > 0
    left_out = {Phase.FILTER, Phase.SEARCH} if not searches else set[Phase]()
    left_out |= {Phase.TEST} if job.test_dataset_id is None else set()
    left_out |= {Phase.FIT} - ({progress.phase, progress.cut_off} if progress is not None else set())
    states = dict(_list_states(job, progress, [one for one in Phase if one not in left_out]))
    began = progress is not None or job.status == Status.SUCCEEDED
    yield "Read", "done" if began else "now" if job.status in (Status.RUNNING, Status.CANCELLING) else "to come"
    for name, phases in _STEPS.items():
        if found := [states[one] for one in phases if one in states]:
            yield name, min(found, key=_STATES.index)


def _list_states(job: Job, progress: ProgressOut | None, order: list[Phase]) -> Iterator[tuple[Phase, str]]:
    reached = order.index(progress.phase) if progress is not None and progress.phase in order else -1
    is_done = job.status == Status.SUCCEEDED
    was_ended = is_done and bool(job.partial) and -1 < reached < len(order) - 1  # at the service's time limit
    for place, phase in enumerate(order):
        if progress is None or place > reached:
            yield phase, "did not run" if was_ended else "done" if is_done else "to come"
        elif place == reached and job.status in (Status.RUNNING, Status.CANCELLING):
            yield phase, "now"
        elif place == reached and (was_ended or not is_done):
            yield phase, "stopped here"
        else:
            yield phase, "stopped early" if phase == progress.cut_off else "done"


_MOVES = {"succeeded": "It is done.", "failed": "It failed.", "cancelled": "It was stopped."}


def _list_notes(events: Sequence[Event]) -> Iterator[Note]:
    for event in events:
        if event.type == "status":
            yield Note(event.at, _say_move(event.data))
        elif event.type not in ("phase", "progress"):
            yield Note(event.at, event.data.get("detail") or _NOTES.get(event.type, event.type))


def _say_move(data: Mapping[str, Any]) -> str:
    before, after, attempt = data.get("from"), data.get("to"), data.get("attempt")
    if before in ("running", "cancelling") and after == "queued":
        return f"The worker of attempt {attempt} ended in the middle. It is queued again."
    if after == "running":
        return f"A worker took it (attempt {attempt})."
    return _MOVES.get(str(after), f"It is {after}.")


router = APIRouter(prefix="/pages/selections", dependencies=OWNER_ROUTE, include_in_schema=False)

_MOST_EVENTS = 1000
Action = Literal["cancel", "resume", "delete"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which selections a list shows."""

    name: Annotated[str, Query(max_length=200)] = ""
    status: Annotated[Literal["", *(one.value for one in Status)], Query()] = ""  # type: ignore[valid-type]

    @property
    def is_narrowed(self) -> bool:
        return bool(self.name or self.status)

    @property
    def query(self) -> str:
        """As the beginning of the query of an address."""
        given = {"name": self.name, "status": self.status}
        return urlencode({name: value for name, value in given.items() if value} | {"": ""}).rstrip("=")

    @property
    def filters(self) -> list[ColumnElement[bool]]:
        found = list[ColumnElement[bool]]()
        if self.name:
            found.append(func.strpos(func.lower(func.coalesce(Job.name, Job.id)), self.name.lower()) > 0)
        if self.status:
            found.append(Job.status == self.status)
        return found


@router.get("")
def show_list(visit: VisitDep, page: PageDep, asked: Annotated[Asked, Depends()]) -> HTMLResponse:
    """The selections of an owner, newest first."""
    more = ("figures", "dataset_id", "model", "num_labels")
    jobs, cursor = service.list_page(visit.services, visit.owner, page, *asked.filters, more=more)
    with visit.services.database.session_scope() as session:
        sizes = find_sizes(session, {one.dataset_id for one in jobs})
    return visit.answer(
        "list.html",
        jobs=jobs,
        cursor=cursor,
        is_first=page.last_id is None,
        sizes=sizes,
        has_sample=has_sample(),
        asked=asked,
        statuses=[one.value for one in Status],
        names=HEADLINES,
    )


@router.get("/{selection_id}")
def show_selection(visit: VisitDep, selection_id: SelectionIdDep) -> HTMLResponse:
    """One selection: how it goes, or what it found."""
    return _show_whole(visit, _describe(visit, selection_id))


def _show_whole(visit: Visit, found: dict[str, Any]) -> HTMLResponse:
    return visit.answer("selection.html", None, **found, **describe_result(visit.services, found["job"]))


@router.get("/{selection_id}/live")
def show_live(visit: VisitDep, selection_id: SelectionIdDep, if_none_match: KnownEtag = None) -> Response:
    """The part that changes while a selection runs; the whole page when it has ended."""
    found = _describe(visit, selection_id)
    if Status(found["job"].status) not in TERMINAL:
        shown = visit.answer("live.html", None, **found)
        etag = make_etag(repr(shown.body))  # the time decides about it, too
        return answer_unchanged(etag, {}) if is_known(if_none_match, etag) else answer_with_etag(etag, shown, {})
    ended = _show_whole(visit, found)
    ended.headers.update({"HX-Retarget": "#main", "HX-Reswap": "innerHTML"})
    return ended


@router.post("/{selection_id}/{action}")
def act(visit: VisitDep, selection_id: SelectionIdDep, action: Annotated[Action, Path()]) -> HTMLResponse:
    """Cancel, resume or delete, and show what there is then."""
    queued = None
    with visit.services.database.session_scope() as session:
        if action == "delete":
            service.delete(session, visit.owner, selection_id)
        elif action == "cancel":
            service.cancel(session, visit.owner, selection_id)
        else:
            job, has_changed = service.resume(visit.services, session, visit.owner, selection_id)
            queued = JobId(job.id, job.attempt + 1, job.model) if has_changed else None
    return visit.go_to(f"/pages/selections{'' if action == 'delete' else f'/{selection_id}'}", queued)


def _describe(visit: Visit, selection_id: str) -> dict[str, Any]:
    with visit.services.database.session_scope() as session:
        job = service.get(session, visit.owner, selection_id)
        size = find_sizes(session, [job.dataset_id])[job.dataset_id]
        place = service.find_place(visit.services, session, JobState.of(job))
        events = service.list_newest_events(session, selection_id, _MOST_EVENTS)
        asked = read_request(StoredSpec.model_validate(job.spec)).tabulate()
    return {"job": job, "run": describe_run(job, place, events, size.num_rows), "asked": asked, "size": size}

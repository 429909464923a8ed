"""What the page of a selection says of its run."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.lifecycle.spec import StoredSpec
from app.pages import selections
from app.pages.selections import Run
from app.selections.schemas import QueueOut
from app.store.tables import Event, Job
from lens_engine.config import RowOptions, SelectionConfig
from lens_engine.prompt.request import Wordings
from lens_engine.types import Phase
from tests.integration.samples import PROGRESS, TASK

NOW = datetime.now(UTC)
AHEAD, PAST = NOW + timedelta(hours=1), NOW - timedelta(seconds=1)
WORKERS = QueueOut(position=None, workers=2)


def make_job(status: str, **values: Any) -> Job:
    spec = StoredSpec.of("m", Wordings(TASK), "quick", values.pop("config", SelectionConfig())).model_dump(mode="json")
    usual: dict[str, Any] = {"attempt": 0, "crashes": 0, "progress": None, "lease_until": None, "error": None}
    return Job(status=status, **({"spec": spec, "test_dataset_id": "ds_1"} | usual | values))


def describe_run(job: Job, place: QueueOut | None, events: list[Event], num_rows: int = 1000) -> Run:
    return selections.describe_run(job, place, events, num_rows)


def make_event(kind: str, **data: Any) -> Event:
    return Event(type=kind, at=NOW, data=data)


@pytest.mark.parametrize(
    ("place", "says", "is_trouble"),
    [
        (None, "nobody can say where it stands", True),
        (QueueOut(position=None, workers=None), "nobody can say where it stands", True),
        (QueueOut(position=1, workers=0), "no worker is running", True),
        (QueueOut(position=1, workers=1), "It waits in the queue; 1 worker takes such selections.", False),
        (QueueOut(position=2, workers=2), "queue, after 1 other job; 2 workers take such", False),
        (QueueOut(position=1001, workers=2), "queue, after 1,000 other jobs; 2 workers", False),
        (QueueOut(position=None, workers=2), "It waits before the next attempt; 2 workers", False),
    ],
)
def test_queued_run_says_where_it_stands(place: QueueOut | None, says: str, is_trouble: bool) -> None:
    found = describe_run(make_job("queued"), place, [])
    assert says in found.sentence
    assert found.is_trouble == is_trouble
    assert "checkpoint" not in found.sentence


@pytest.mark.parametrize(
    ("values", "says", "is_trouble"),
    [
        ({"status": "running"}, "Loading the model …", False),
        ({"status": "running", "progress": {}}, "Running.", False),
        ({"status": "running", "lease_until": PAST}, "The worker is silent.", True),
        ({"status": "cancelling", "lease_until": PAST}, "The worker is silent.", True),
        ({"status": "cancelling"}, "It is asked to stop", False),
        ({"status": "cancelled"}, "You stopped it before there was a result.", False),
        ({"status": "cancelled", "partial": True}, "You stopped it.", False),
        ({"status": "succeeded"}, "It is done.", False),
        ({"status": "failed", "error": {"detail": "The model gave NaN."}}, "It failed: The model gave NaN.", True),
        ({"status": "failed"}, "It failed: the reason is in the log of the worker; look there for sel_1", True),
    ],
)
def test_run_says_its_state(values: dict[str, Any], says: str, is_trouble: bool) -> None:
    job = make_job(**{"attempt": 1, "id": "sel_1", "lease_until": AHEAD, **values})
    if job.progress is not None:
        job.progress = asdict(PROGRESS)
    found = describe_run(job, None, [])
    assert found.sentence.startswith(says)
    assert found.is_trouble == is_trouble


def test_later_attempt_says_so() -> None:
    waiting = make_job("queued", attempt=1, crashes=1)
    assert describe_run(waiting, WORKERS, []).sentence.endswith("Its worker ended in the middle.")
    going = make_job("running", attempt=2, crashes=1, progress=asdict(PROGRESS), lease_until=AHEAD)
    assert describe_run(going, WORKERS, []).sentence == "Running. Attempt 2."


@pytest.mark.parametrize(
    ("num_rows", "values", "steps"),
    [
        (100, {}, ["Read", "Search", "Judge", "Test"]),
        (99, {}, ["Read", "Judge", "Test"]),
        (100, {"test_dataset_id": None}, ["Read", "Search", "Judge"]),
        (100, {"config": SelectionConfig(rows=RowOptions(search=0))}, ["Read", "Judge", "Test"]),
    ],
    ids=["all", "few-rows", "no-test-rows", "no-search"],
)
def test_steps_are_those_that_the_run_will_have(num_rows: int, values: dict[str, Any], steps: list[str]) -> None:
    found = describe_run(make_job("queued", **values), WORKERS, [], num_rows)
    assert [name for name, _ in found.phases] == steps


def test_steps_are_done_now_or_to_come() -> None:
    assert list_states() == ["done", "now", "to come", "to come"]
    loading = make_job("running", attempt=1, lease_until=AHEAD)
    assert [state for _, state in describe_run(loading, None, []).phases] == ["now", *["to come"] * 3]
    assert {state for _, state in describe_run(make_job("queued"), WORKERS, []).phases} == {"to come"}
    assert {state for _, state in describe_run(make_job("succeeded"), None, []).phases} == {"done"}


def list_states(status: str = "running", **changes: Any) -> list[str]:
    progress = asdict(replace(PROGRESS, **({"survivors": 100} | changes)))
    job = make_job(status, attempt=1, progress=progress, lease_until=AHEAD, partial=status == "succeeded")
    return [state for _, state in describe_run(job, None if status != "queued" else WORKERS, []).phases]


@pytest.mark.parametrize(
    ("status", "changes", "states"),
    [
        ("running", {"cut_off": Phase.FILTER}, ["stopped early", "done", "now"]),
        ("cancelling", {"cut_off": Phase.SEARCH}, ["stopped early", "done", "now"]),
        ("succeeded", {"cut_off": Phase.JUDGE}, ["done", "stopped early", "done"]),
        ("succeeded", {"cut_off": Phase.FIT}, ["done", "stopped early", "done"]),
        ("running", {"phase": Phase.FIT}, ["done", "now", "to come"]),
        ("running", {"survivors": None}, ["done", "done", "now"]),
        ("running", {"phase": Phase.FILTER}, ["now", "to come", "to come"]),
        ("failed", {"phase": Phase.SEARCH}, ["stopped here", "to come", "to come"]),
        ("queued", {"phase": Phase.JUDGE}, ["done", "stopped here", "to come"]),
        ("succeeded", {"phase": Phase.SEARCH}, ["stopped here", "did not run", "did not run"]),
    ],
)
def test_step_that_did_not_run_says_so(status: str, changes: dict[str, Any], states: list[str]) -> None:
    assert list_states(status, **({"phase": Phase.TEST} | changes)) == ["done", *states]


def test_percent_is_of_the_planned_pairs() -> None:
    job = make_job("running", attempt=1, progress=asdict(PROGRESS), lease_until=AHEAD)
    assert describe_run(job, None, []).percent == 29
    assert describe_run(make_job("queued"), None, []).percent == 0


def test_what_happened_is_told_newest_first() -> None:
    events = [
        make_event("status", **{"from": None, "to": "queued", "attempt": 0}),
        make_event("status", **{"from": "queued", "to": "running", "attempt": 1}),
        make_event("phase", phase="search"),
        make_event("status", **{"from": "running", "to": "queued", "attempt": 1}),
        make_event("worker-unfit", detail="The GPU failed."),
        make_event("resumed", error={}),
        make_event("of a later release"),
    ]
    assert [note.text for note in describe_run(make_job("queued"), WORKERS, events).notes] == [
        "of a later release",
        "You had it queued again.",
        "The GPU failed.",
        "The worker of attempt 1 ended in the middle. It is queued again.",
        "A worker took it (attempt 1).",
        "It is queued.",
    ]

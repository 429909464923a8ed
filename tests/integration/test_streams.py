"""The events of a selection as server-sent events."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.jobs.streaming import MEDIA_TYPE, Pace, Streams
from app.lifecycle import endings
from app.lifecycle.claims import Claim, renew_lease
from app.lifecycle.results import SelectionOutcome
from app.web.draining import DRAINING
from lens_engine.metering.progress import Progress
from lens_engine.types import Phase
from tests.api_keys import headers_of
from tests.integration.asgi import make_scope
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import PROGRESS, make_result, problem_of

STREAM = {"Accept": MEDIA_TYPE}


def parse(text: str) -> list[tuple[str, int | None, Any]]:
    """Kind, number and data of each message; comments are left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            number = int(fields["id"]) if "id" in fields else None
            found.append((fields["event"], number, json.loads(fields["data"])))
    return found


def read(client: TestClient, selection_id: str, **headers: str) -> list[tuple[str, int | None, Any]]:
    response = client.get(f"/selections/{selection_id}/events", headers={**STREAM, **headers})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith(MEDIA_TYPE)
    assert response.headers["cache-control"] == "no-store"
    return parse(response.text)


def advance(selections: Selections, claim: Claim, progress: Progress = PROGRESS) -> None:
    with selections.database.session_scope() as session:
        renew_lease(session, claim, 60, progress)


@dataclass
class Follower:
    """A client of a stream that is open, in the event loop of the application."""

    app: Any
    path: str
    stopping: Flag = field(default_factory=Flag)
    text: str = ""
    status: int = 0

    def __post_init__(self) -> None:
        self._is_gone = asyncio.Event()
        self._is_new = asyncio.Event()
        self._asked = False

    async def follow(self) -> None:
        scope = make_scope("GET", self.path, STREAM, {DRAINING: self.stopping})
        await self.app(scope, self._receive, self._send)

    async def wait_for(self, words: str) -> None:
        async with asyncio.timeout(20):
            while words not in self.text:
                self._is_new.clear()
                await self._is_new.wait()

    def leave(self) -> None:
        self._is_gone.set()

    async def _receive(self) -> Any:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._is_gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()
        self._is_new.set()


def test_stream_tells_all_events_and_the_job_in_order(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    events = client.get(f"/selections/{selection_id}/events").json()["items"]

    *told, (job_kind, job_number, job), close = read(client, selection_id)

    assert told == [(event["type"], event["id"], event) for event in events]
    assert (job_kind, job_number, job) == ("job", None, client.get(f"/selections/{selection_id}").json())
    assert close == ("close", None, {})


def test_stream_goes_on_after_the_last_event_without_loss_or_repeat(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    numbers = [number for _, number, _ in read(client, selection_id) if number is not None]
    for place, number in enumerate(numbers[:-1]):
        again = read(client, selection_id, **{"Last-Event-ID": str(number)})
        assert [one for _, one, _ in again if one is not None] == numbers[place + 1 :]


def test_client_that_knows_all_of_an_ended_job_need_not_come_back(client: TestClient, selections: Selections) -> None:
    selection_id = selections.failed()
    last = max(number or 0 for _, number, _ in read(client, selection_id))
    response = client.get(f"/selections/{selection_id}/events", headers={**STREAM, "Last-Event-ID": str(last)})
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize("last", ["x", "-1", "9" * 19, "²"])
def test_number_that_no_event_has_is_refused(client: TestClient, selections: Selections, last: str) -> None:
    headers = {**STREAM, "Last-Event-ID": last.encode()}
    problem_of(client.get(f"/selections/{selections.queued()}/events", headers=headers), 400, "invalid-cursor")


def test_selection_of_another_owner_is_not_streamed(
    make_guarded: Callable[..., TestClient], selections: Selections
) -> None:
    selection_id = selections.succeeded()  # of the owner "local"
    guarded = make_guarded("alice")
    path = f"/selections/{selection_id}/events"
    problem_of(guarded.get(path, headers={**STREAM, **headers_of("alice")}), 404, "not-found")
    problem_of(guarded.get(path, headers=STREAM), 401, "unauthorized")


def test_open_stream_tells_each_change_and_holds_no_connection(client: TestClient, selections: Selections) -> None:
    client.app.state.streams = Streams(Pace(look_seconds=0.02))  # type: ignore[attr-defined]
    claim = selections.running()
    pool = client.app.state.services.database.engine.pool  # type: ignore[attr-defined]

    async def follow() -> str:
        follower = Follower(client.app, f"/selections/{claim.job_id}/events")
        following = asyncio.create_task(follower.follow())
        await follower.wait_for('"status":"running"')
        busy = [pool.checkedout() for _ in range(50) if await asyncio.sleep(0.005, result=True)]
        assert min(busy) == 0, "a connection is held between looks"
        await asyncio.to_thread(advance, selections, claim)
        await follower.wait_for("event: progress")
        await asyncio.to_thread(finish, selections, claim)
        await asyncio.wait_for(following, 20)
        return follower.text

    kinds = [kind for kind, _, _ in parse(asyncio.run(follow()))]
    assert kinds[2] == "job", "the job as it is comes after the events so far"
    events = [kind for kind in kinds if kind != "job"]
    assert events[:2] == ["status", "status"], "queued, and running"
    assert set(events[2:4]) == {"phase", "progress"}
    assert kinds[-2:] == ["job", "close"]


@pytest.mark.parametrize("is_stopping", [True, False], ids=["process", "client"])
def test_stream_ends_with_its_process_and_with_its_client(
    client: TestClient, selections: Selections, is_stopping: bool
) -> None:
    selection_id = selections.queued()

    async def follow() -> str:
        follower = Follower(client.app, f"/selections/{selection_id}/events")
        following = asyncio.create_task(follower.follow())
        await follower.wait_for("event: job")
        if is_stopping:
            follower.stopping.set()
        else:
            follower.leave()
        await asyncio.wait_for(following, 2)
        return follower.text

    assert "event: close" not in asyncio.run(follow()), "the client must come back"


def test_steps_of_a_selection_are_events(selections: Selections) -> None:
    claim = selections.running()
    first = replace(PROGRESS, phase=Phase.FILTER, step=1, survivors=200, best_validation_accuracy=None, pairs_done=10)
    second = replace(first, survivors=100, pairs_done=20)
    third = replace(PROGRESS, best_random_accuracy=0.5, pairs_done=30)
    for progress in (first, replace(first, pairs_done=15), second, third, replace(third, pairs_done=35)):
        advance(selections, claim, progress)

    told = selections.events_of(claim.job_id, "progress")

    names = ("survivors", "best_validation_accuracy", "best_random_accuracy", "pairs_done", "attempt")
    assert [tuple(one[name] for name in names) for one in told] == [
        (200, None, None, 10, 1),
        (100, None, None, 20, 1),
        (third.survivors, 0.83, 0.5, 30, 1),
    ]


def test_steps_of_other_kinds_are_no_events(selections: Selections) -> None:
    _, evaluation_id = selections.asked("evaluation")
    claim = selections.claim(evaluation_id)
    advance(selections, claim)
    count = "SELECT count(*) FROM events WHERE job_id = :id AND type = 'progress'"
    assert run_sql(selections.database, count, id=evaluation_id) == 0


def finish(selections: Selections, claim: Claim) -> None:
    with selections.database.session_scope() as session:
        assert endings.finish(session, claim, SelectionOutcome(make_result()))

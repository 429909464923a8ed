"""Asked to stop: by the owner of a selection, by a deployment, by the clock."""

import contextlib
import http.client
import json
import signal

from app.store.tables import Status
from tests.e2e.processes import Process, is_gone, status_at
from tests.e2e.stack import Stack, make_submission
from tests.e2e.waiting import until

DRAIN_SECONDS = 10
RELEASE_SECONDS = 5
"""Less than the six seconds that RQ by itself leaves a job before it tells it of a shutdown."""


def test_an_api_says_that_it_stops_and_finishes_what_it_began(second_api: Process, port: int) -> None:
    body = json.dumps(make_submission()).encode()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as upload:
        upload.putrequest("POST", "/selections")
        upload.putheader("Content-Type", "application/json")
        upload.putheader("Content-Length", str(len(body)))
        upload.endheaders(body[:100])

        second_api.send(signal.SIGTERM)
        until(lambda: status_at(port, "/readyz") == 503, "a balancer sees that it stops", seconds=2)
        assert status_at(port, "/selections") == 200
        until(lambda: status_at(port, "/readyz") is None, "it takes no further connection", seconds=5)
        upload.send(body[100:])
        answer = upload.getresponse()
        selection = json.loads(answer.read())

    assert (answer.status, selection["status"]) == (202, Status.QUEUED)
    assert second_api.wait(DRAIN_SECONDS) == 0


def test_a_deployment_releases_the_selection_without_charging_an_attempt(lens: Stack) -> None:
    worker, selection_id = lens.hold_in_the_search()
    horse = worker.wait_for_horse()

    assert worker.terminate(RELEASE_SECONDS) == 0
    assert is_gone(horse)
    assert lens.get(selection_id)["status"] == Status.QUEUED
    lens.let_go()
    lens.start_worker()

    lens.check_undisturbed(selection_id, attempt=2, crashes=0)

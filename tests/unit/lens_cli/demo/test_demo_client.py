"""The demonstration's client against the answers a service can give."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lens_cli.demo.client import SelectionClient
from lens_cli.refusals import Refusal
from lens_engine.metering.progress import Progress
from lens_engine.types import Phase

PROGRESS = {
    "phase": "search",
    "step": 2,
    "steps": 4,
    "pairs_done": 120,
    "pairs_total": 410,
    "tokens_done": 1200,
    "tokens_total": 4100,
    "tokens_per_second": None,
    "eta_seconds": None,
    "best_validation_accuracy": 0.83,
}


def client_of(*answers: httpx.Response) -> SelectionClient:
    """A client whose service gives these answers, one a request."""
    left: Iterator[httpx.Response] = iter(answers)
    return SelectionClient("http://lens", transport=httpx.MockTransport(lambda _request: next(left)))


def selection(status: str, **more: Any) -> httpx.Response:
    body = {"id": "sel_1", "status": status, "progress": None, "error": None, **more}
    return httpx.Response(200, json=body, headers={"Retry-After": "0"})


def test_waiting_reports_progress_and_checks_before_each_poll() -> None:
    seen, checks = list[Progress](), list[int]()
    answers = (selection("queued"), selection("running", progress=PROGRESS), selection("succeeded", progress=PROGRESS))
    with client_of(*answers) as client:
        client.wait("sel_1", seen.append, lambda: checks.append(1))
    assert [(progress.phase, progress.pairs_done) for progress in seen] == [(Phase.SEARCH, 120)] * 2
    assert len(checks) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (selection("failed", error={"detail": "out of memory"}), "the selection ended as failed: out of memory"),
        (selection("cancelled"), "the selection ended as cancelled: no reason given"),
        (httpx.Response(503, text="busy"), "the service answered 503 Service Unavailable"),
    ],
)
def test_ending_without_success_is_refused_with_its_reason(answer: httpx.Response, message: str) -> None:
    with client_of(answer) as client, pytest.raises(Refusal) as caught:
        client.wait("sel_1", lambda _: None, lambda: None)
    assert str(caught.value) == message


def test_problem_becomes_a_refusal_with_a_line_for_each_error(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("text,label\n")
    problem = {
        "title": "The dataset is empty",
        "detail": "there is no row",
        "errors": [{"pointer": "/dataset", "detail": "empty"}],
    }
    answer = httpx.Response(
        422, content=json.dumps(problem).encode(), headers={"Content-Type": "application/problem+json"}
    )
    with client_of(answer) as client, pytest.raises(Refusal) as caught:
        client.submit(tmp_path / "data.csv", tmp_path / "data.csv", {})
    assert str(caught.value) == "The dataset is empty: there is no row"
    assert caught.value.details == ("/dataset: empty",)

"""Processes killed in the middle of an evaluation or a prediction: it ends as if nothing had happened.

An attempt keeps each batch of rows, and the next attempt goes on after the last batch.
"""

import itertools
import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from app.store.states import Status
from lens_engine.evaluation.rows import BATCH_ROWS
from tests.e2e.processes import Worker, is_gone
from tests.e2e.scorers import asked_path
from tests.e2e.stack import NEAREST, Stack
from tests.e2e.waiting import until

SECOND_BATCH = 1
"""Call of the scorer that asks for the rows after the first batch."""
NUM_ROWS = 2 * BATCH_ROWS + 40
TEXTS = [f"note {row} about {'joy' if row % 2 else 'grief'}" for row in range(NUM_ROWS)]
FORMATS = ("csv", "jsonl", "parquet")


@pytest.fixture
def selection(lens: Stack) -> str:
    """A selection whose classifier asks the model, and whose prompt finds examples; no worker is left."""
    worker = lens.start_worker()
    selection_id = lens.submit(options=NEAREST)
    assert lens.wait_until_done(selection_id)["status"] == Status.SUCCEEDED
    assert worker.terminate(20) == 0
    asked_path(lens.hold_path).unlink()
    return selection_id


def predict(lens: Stack, selection_id: str, prompts: str = "classifier") -> str:
    """POST a prediction of texts, one of which is bad; its id."""
    lines = ["id,text", *(f"{row},{text}" for row, text in enumerate(TEXTS)), "bad,"]
    files = {"texts": ("texts.csv", "\n".join(lines).encode())}
    data = {"spec": json.dumps({"prompts": prompts})}
    return accepted(lens, f"/selections/{selection_id}/predictions", files=files, data=data)


def evaluate(lens: Stack, selection_id: str, prompts: str = "classifier") -> str:
    """POST an evaluation on other rows; its id."""
    examples = [{"text": text, "label": "good" if "joy" in text else "bad"} for text in TEXTS]
    body = {"spec": {"prompts": prompts}, "examples": examples}
    return accepted(lens, f"/selections/{selection_id}/evaluations", json=body)


def accepted(lens: Stack, path: str, **body: Any) -> str:
    response = lens.client.post(path, **body)
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def found_by(lens: Stack, job_id: str) -> Any:
    """All that its owner gets of a job that has succeeded."""
    job = lens.wait_until_done(job_id)
    assert job["status"] == Status.SUCCEEDED
    if job["id"].startswith("ev_"):
        return job["digest"], json.dumps(job["result"])
    outputs = [lens.client.get(f"/predictions/{job_id}/output", params={"format": one}) for one in FORMATS]
    assert [output.status_code for output in outputs] == [200] * len(FORMATS)
    return job["digest"], [output.content for output in outputs]


def asked(lens: Stack) -> list[str]:
    """The texts that were answered, by all processes."""
    return [query.removesuffix(" It was") for query in asked_path(lens.hold_path).read_text().splitlines()]


def wait_for_batches(lens: Stack, job_id: str, number: int) -> None:
    query = "SELECT count(*) FROM predictions WHERE job_id = :id"
    until(lambda: lens.scalar(query, id=job_id) == number * BATCH_ROWS, f"{number} batches are kept")


def kill_worker(lens: Stack, worker: Worker) -> None:
    """Its work-horse dies with it, and another worker comes."""
    horse = worker.wait_for_horse()
    worker.kill()
    until(lambda: is_gone(horse), "the work-horse dies with its parent", seconds=5)
    lens.start_worker()


def kill_horse(_: Stack, worker: Worker) -> None:
    worker.wait_for_horse().kill()


@pytest.mark.parametrize(
    ("submit", "prompts", "harm"),
    [
        *itertools.product([predict, evaluate], ["classifier"], [kill_worker, kill_horse]),
        (predict, "support_examples", kill_worker),
        (evaluate, "support_examples", kill_horse),
    ],
)
def test_next_attempt_computes_the_rows_that_are_left(
    lens: Stack,
    selection: str,
    submit: Callable[[Stack, str, str], str],
    prompts: str,
    harm: Callable[[Stack, Worker], None],
) -> None:
    lens.hold_from(SECOND_BATCH)
    worker = lens.start_worker()
    job_id = submit(lens, selection, prompts)
    wait_for_batches(lens, job_id, 1)

    harm(lens, worker)
    until(lambda: lens.crashes(job_id) == 1, "the death is noticed")
    lens.let_go()
    found = found_by(lens, job_id)

    assert lens.attempt(job_id) == 2
    assert asked(lens) == TEXTS
    assert found == found_by(lens, submit(lens, selection, prompts))  # undisturbed
    lens.check_invariants()


def test_worker_that_wakes_after_another_took_over_keeps_no_row(lens: Stack, selection: str) -> None:
    lens.hold_from(SECOND_BATCH)
    first = lens.start_worker()
    job_id = predict(lens, selection)
    wait_for_batches(lens, job_id, 1)
    zombie = first.wait_for_horse()

    first.send(signal.SIGSTOP)  # the parent too, which would kill the zombie
    zombie.send_signal(signal.SIGSTOP)
    lens.start_worker()
    wait_for_batches(lens, job_id, 2)  # the second by the next attempt, which is held before its own second call
    zombie.send_signal(signal.SIGCONT)
    lens.let_go()
    found = found_by(lens, job_id)
    until(lambda: is_gone(zombie), "the zombie exits")

    assert lens.attempt(job_id) == 2
    assert "writes nothing: the claim is lost" in first.log()
    assert found == found_by(lens, predict(lens, selection))
    lens.check_invariants()

"""What a real worker checks before it starts, and a worker that is unfit."""

import json

import pytest
import torch

from app.store.tables import Status
from tests.e2e.processes import Worker
from tests.e2e.stack import Stack
from tests.e2e.waiting import until

START_SECONDS = 60


def start_on_gpu(lens: Stack, **environment: str) -> Worker:
    return lens.start_worker("tests.e2e.worker_on_a_gpu", **environment)


def faults_of(lens: Stack, selection_id: str) -> list[str]:
    events = lens.client.get(f"/selections/{selection_id}/events").json()["items"]
    return [event["data"]["code"] for event in events if event["type"] == "worker-unfit"]


def test_an_unfit_worker_stops_and_its_selections_are_run_by_a_sound_one(lens: Stack) -> None:
    # Between two attempts of one job others are taken, and the worker learns that the fault is its own.
    unfit = lens.start_worker(LENS_RETRY_BACKOFF_SECONDS="5")
    ids = [lens.submit(model="broken") for _ in range(4)]

    assert unfit.wait(START_SECONDS) == 1
    assert [lens.get(id_)["status"] for id_ in ids] == [Status.QUEUED] * 4
    assert sum(lens.crashes(id_) for id_ in ids) == 2
    assert "2 jobs in a row met a fault of this worker" in unfit.log()
    mended = {**lens.settings.allowed_models, "broken": lens.settings.allowed_models["held"]}
    lens.start_worker(LENS_ALLOWED_MODELS=json.dumps(mended))
    selections = [lens.wait_until_done(id_) for id_ in ids]

    assert [selection["status"] for selection in selections] == [Status.SUCCEEDED] * 4
    lens.check_invariants()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_worker_that_loses_its_gpu_does_not_go_on_on_the_processor(lens: Stack) -> None:
    worker = start_on_gpu(lens, LENS_DEVICE="auto", LENS_RETRY_BACKOFF_SECONDS="5")
    ids = [lens.submit(model="tiny") for _ in range(2)]

    assert worker.wait(START_SECONDS) == 1

    assert [lens.get(id_)["status"] for id_ in ids] == [Status.QUEUED] * 2
    assert {code for id_ in ids for code in faults_of(lens, id_)} == {"model-not-loaded"}
    assert "torch sees no CUDA device here" in worker.log()


def test_faults_of_a_worker_that_are_not_in_a_row_do_not_stop_it(lens: Stack) -> None:
    worker = lens.start_worker(LENS_RETRY_BACKOFF_SECONDS="3600")
    for _ in range(2):
        broken_id = lens.submit(model="broken")
        until(lambda id_=broken_id: lens.crashes(id_) == 1, "the worker meets its fault")
        assert lens.wait_until_done(lens.submit())["status"] == Status.SUCCEEDED

    assert worker.exit_status is None
    lens.client.post(f"/selections/{broken_id}/cancel")

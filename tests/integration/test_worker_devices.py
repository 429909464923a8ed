"""What /readyz tells about the workers that are registered."""

from collections.abc import Iterator

import pytest
from redis import Redis
from starlette.testclient import TestClient

from app.settings import Settings
from app.store.queue import REDIS_FIELD
from worker.device import Device
from worker.process import JobWorker, create_worker

GPU = Device("cuda:0", "NVIDIA H200", total_bytes=150_109_880_320, free_bytes=1, number_format="bfloat16")
PROCESSOR = Device("cpu", "A processor")


@pytest.fixture
def workers(settings: Settings) -> Iterator[list[JobWorker]]:
    made = [create_worker(settings, device) for device in (PROCESSOR, GPU)]
    for worker in made:
        worker.register_birth()
    yield made
    for worker in made:
        worker.connection.close()


def test_every_worker_is_shown_with_its_device(client: TestClient, workers: list[JobWorker]) -> None:
    assert len(workers) == 2
    response = client.get("/readyz")

    assert (response.status_code, response.json()["status"]) == (200, "ready")
    assert response.json()["workers"] == [
        {"device": "cpu", "name": "A processor", "memory_bytes": None, "number_format": None},
        {"device": "cuda:0", "name": "NVIDIA H200", "memory_bytes": 150_109_880_320, "number_format": "bfloat16"},
    ]


def test_worker_that_ended_is_not_shown(client: TestClient, workers: list[JobWorker]) -> None:
    workers[0].register_death()

    assert [worker["device"] for worker in client.get("/readyz").json()["workers"]] == ["cuda:0"]


def test_service_without_workers_is_ready(client: TestClient) -> None:
    response = client.get("/readyz")

    assert (response.status_code, response.json()["workers"]) == (200, [])


@pytest.mark.parametrize("text", ["{}", "no json", '{"device": 7, "name": "x"}'])
def test_device_in_another_form_is_left_out(
    client: TestClient, workers: list[JobWorker], settings: Settings, text: str
) -> None:
    with Redis.from_url(settings.redis_url) as redis:
        redis.hset(workers[0].key, REDIS_FIELD, text)

    assert [worker["device"] for worker in client.get("/readyz").json()["workers"]] == ["cuda:0"]


def test_workers_of_another_queue_are_not_shown(
    client: TestClient, settings: Settings, workers: list[JobWorker]
) -> None:
    other = create_worker(settings.model_copy(update={"queue_name": "other"}), GPU)
    other.register_birth()
    other.connection.close()

    assert len(client.get("/readyz").json()["workers"]) == len(workers)

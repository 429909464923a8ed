"""A worker whose selections are shared by actors of a Ray cluster: real processes of both, killed on the way."""

import secrets
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from app.store.tables import Status
from lens_cli.service.embedded.child import Child, ChildSpec
from lens_engine import load_scorer
from tests.e2e.processes import ROOT, Worker, is_gone
from tests.e2e.stack import OPTIONS, Stack
from tests.e2e.waiting import until
from tests.ports import reserve_port

pytest.importorskip("ray")

NUM_CPUS = 3
LONG_SEARCH: dict[str, Any] = {
    **OPTIONS,
    "num_demonstrations": 4,
    "filtering": {**OPTIONS["filtering"], "keep": 12},
    "search": {**OPTIONS["search"], "iterations": 60},
}
"""Long enough to be killed in the middle: an iteration takes a few hundredths of a second, and 12 examples have more
permutations of four than 60 iterations try."""
PATIENCE_SECONDS = 120
"""Each actor imports torch, and there may be fewer cores than actors."""


@dataclass(frozen=True)
class Cluster:
    """A head of Ray that has processors for three actors."""

    head: Child
    variables: dict[str, str]  #: for those who join

    def actors(self) -> set[psutil.Process]:
        """Those that live."""
        found = psutil.Process(self.head.pid).children(recursive=True)
        return {one for one in found if not is_gone(one) and "ray::ScoringActor" in " ".join(one.cmdline())}

    def start_worker(self, lens: Stack, actors: int) -> Worker:
        return lens.start_worker(**self.variables, LENS_RAY_ACTORS=str(actors))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    port = reserve_port()
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryDirectory(
        prefix="lens-", ignore_cleanup_errors=True
    ) as folder:  # paths of sockets are short
        program = str(Path(sys.executable).with_name("ray"))
        resources = [f"--num-cpus={NUM_CPUS}", "--num-gpus=0", "--object-store-memory=100000000"]
        place = [f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=false"]
        environment = {**variables, "PYTHONPATH": str(ROOT), "LENS_CACHE_DIR": f"{folder}/cache"}
        command = [program, "start", "--head", "--block", *resources, *place]
        head = Child(ChildSpec("Ray", command, Path(folder, "ray.log"), environment=environment))
        yield Cluster(head, {**variables, "LENS_RAY_ADDRESS": f"127.0.0.1:{port}"})
        head.stop()


@pytest.fixture
def selection_id(lens: Stack) -> str:
    return lens.submit(model="tiny", options=LONG_SEARCH)


def digest_of_one_device(lens: Stack, selection_id: str) -> str:
    """Of a run on one thread, as the workers compute: the number of threads may change the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        scorer = load_scorer(str(lens.model_dir), device="cpu", dtype="float32", name="tiny")
        return lens.undisturbed_digest(selection_id, scorer)
    finally:
        torch.set_num_threads(before)


def test_selection_that_loses_an_actor_ends_as_on_one_device(lens: Stack, cluster: Cluster, selection_id: str) -> None:
    worker = cluster.start_worker(lens, actors=3)
    lens.wait_for_checkpoint(selection_id, seconds=PATIENCE_SECONDS)
    horse, actors = worker.wait_for_horse(), cluster.actors()

    actors.pop().kill()
    has_torch = any("libtorch" in mapping.path for mapping in horse.memory_maps(grouped=True))
    selection = lens.wait_until_done(selection_id, PATIENCE_SECONDS)

    assert (len(actors), has_torch) == (2, False)
    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 1)
    assert selection["digest"] == digest_of_one_device(lens, selection_id)
    until(lambda: not cluster.actors(), "the actors end with their job")
    lens.check_invariants()


def test_actors_end_with_the_killed_and_its_selection_goes_on(lens: Stack, cluster: Cluster, selection_id: str) -> None:
    worker = cluster.start_worker(lens, actors=3)
    lens.wait_for_checkpoint(selection_id, seconds=PATIENCE_SECONDS)
    actors = cluster.actors()
    assert len(actors) == 3

    worker.kill()
    until(lambda: all(map(is_gone, actors)), "the actors of a killed worker end", seconds=10)
    worker = cluster.start_worker(lens, actors=1)
    (actor,) = until(cluster.actors, "the next attempt has an actor", PATIENCE_SECONDS)
    worker.wait_for_horse().kill()
    until(lambda: is_gone(actor), "the actor of a killed work-horse ends", seconds=10)
    selection = lens.wait_until_done(selection_id, PATIENCE_SECONDS)

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 3)
    assert selection["digest"] == digest_of_one_device(lens, selection_id)
    assert "resumes after step" in lens.workers[-1].log()
    lens.check_invariants()


def test_worker_that_ends_releases_its_selection_and_actor(lens: Stack, cluster: Cluster, selection_id: str) -> None:
    worker = cluster.start_worker(lens, actors=1)
    lens.wait_for_checkpoint(selection_id, seconds=PATIENCE_SECONDS)

    assert worker.terminate(10) == 0

    assert (lens.get(selection_id)["status"], lens.crashes(selection_id)) == (Status.QUEUED, 0)
    assert "released for a shutdown" in worker.log()
    until(lambda: not cluster.actors(), "the actor ends")

"""A worker that computes on a Ray cluster: what it refuses, and whose fault a cluster is that does not answer."""

import sys

import pytest

from app.settings import Settings
from lens_engine.errors import InvalidConfig
from worker.inspection import UnfitWorker, find_cluster
from worker.model_loading import load_model

NOWHERE = "127.0.0.1:1"


def make(**values: object) -> Settings:
    return Settings.model_validate({"ray_address": NOWHERE, **values})


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, r"Ray could not be reached at '127.0.0.1:1': .* refused; give host:port of a running head of which"),
        ({"device": "cuda:1"}, "device 'cuda:1' is one device; several actors take auto, cpu or cuda"),
        ({"device": "mps"}, "device 'mps' is one device"),
    ],
)
def test_cluster_that_cannot_be_used_is_refused_by_the_setting(values: dict[str, object], reason: str) -> None:
    pytest.importorskip("ray")

    with pytest.raises(UnfitWorker, match=f"^LENS_RAY_ADDRESS is {NOWHERE}, and .*{reason}"):
        find_cluster(make(**values))


def test_worker_without_ray_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(UnfitWorker, match=r"^LENS_RAY_ADDRESS is local, and .* '.\[cluster\]'"):
        find_cluster(make(ray_address="local"))


def test_job_on_a_cluster_that_is_away_needs_neither_torch_nor_the_model_s_files() -> None:
    pytest.importorskip("ray")
    settings = make(allowed_models={"ours": "/elsewhere/ours"}, default_model="ours")

    with pytest.raises(InvalidConfig, match="could not be reached"):
        load_model(settings, "ours", None)

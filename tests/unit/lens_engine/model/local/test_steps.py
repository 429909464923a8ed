"""Whoever opens a model is told what takes long."""

import logging
import time
from pathlib import Path

import pytest

from lens_engine.model.local import model_files, steps
from lens_engine.model.local.model_files import mention_first_load, resolve_model
from lens_engine.model.local.steps import mentioned_if_slow

WAIT_SECONDS = 10.0


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger=steps.__name__)
    return caplog


def wait_for_line(log: pytest.LogCaptureFixture) -> str:
    deadline = time.monotonic() + WAIT_SECONDS
    while not log.messages and time.monotonic() < deadline:
        time.sleep(0.01)
    return log.messages[0]


def test_slow_step_is_mentioned_while_it_runs(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "PATIENCE_SECONDS", 0.01)
    with mentioned_if_slow("counting sheep"):
        assert wait_for_line(log) == "counting sheep"
    assert len(log.messages) == 1


def test_quick_and_failed_steps_are_not_told(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "PATIENCE_SECONDS", 0.2)
    with mentioned_if_slow("counting sheep"):
        pass
    with pytest.raises(KeyError), mentioned_if_slow("counting goats"):
        raise KeyError
    time.sleep(0.4)
    assert not log.messages


def test_first_load_of_a_gguf_file_alone_is_mentioned(log: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "our.gguf").write_bytes(b"GGUF")
    source = resolve_model(str(tmp_path / "our.gguf"), tmp_path / "cache")

    mention_first_load(source, tmp_path / "cache")
    (said,) = log.messages
    assert said.startswith("reading our.gguf and converting it to safetensors, which is done once")
    (tmp_path / "cache" / "models" / f"v2-{source.revision}").mkdir(parents=True)  # as the conversion leaves it
    mention_first_load(source, tmp_path / "cache")

    assert len(log.messages) == 1


def test_folder_of_safetensors_is_not_converted(log: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    mention_first_load(resolve_model(str(tmp_path), tmp_path / "cache"), tmp_path / "cache")
    assert not log.messages


def test_long_digest_is_told(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(steps, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(model_files, "digest_files", lambda *_: wait_for_line(log))
    (tmp_path / "our.gguf").write_bytes(b"GGUF")
    said = resolve_model(str(tmp_path / "our.gguf")).revision
    assert said == "reading our.gguf for the SHA-256 that names these weights, which is done once"


def test_download_is_mentioned(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(steps, "PATIENCE_SECONDS", 0.01)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")

    def find(_: str, *, only_cached: bool) -> Path | None:
        return None if only_cached else wait_for_line(log) and tmp_path  # type: ignore[return-value]

    monkeypatch.setattr(model_files, "_hub_snapshot", find)
    resolve_model("house/our-llama")
    assert log.messages == ["downloading house/our-llama from the Hugging Face hub into its cache, which is done once"]

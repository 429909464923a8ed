"""The worker gives the engine what the settings say, and shows clients names, not paths."""

import logging
from pathlib import Path

import pytest

from app.settings import Settings
from lens_engine.errors import UnknownModel, UnreadableModel
from tests.tiny_models import tiny_causal_lm
from worker.model_loading import load_model


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    folder = tmp_path / "weights"
    tiny_causal_lm("gpt2").save(folder)
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "elsewhere"))
    return Settings(
        allowed_models={"house-model": str(folder)},
        default_model="house-model",
        device="cpu",
        dtype="float32",
        cache_dir=tmp_path / "cache",
    )


def test_allowed_model_is_known_by_its_public_name(settings: Settings) -> None:
    identity = load_model(settings, "house-model", None).scorer.identity

    assert (identity.model, identity.dtype) == ("house-model", "float32")


def test_resumed_run_keeps_the_precision_of_its_checkpoint(settings: Settings) -> None:
    assert load_model(settings, "house-model", "bfloat16").scorer.identity.dtype == "bfloat16"


def test_cache_of_the_settings_is_the_one_used(settings: Settings) -> None:
    load_model(settings, "house-model", None)

    assert (settings.cache_dir / "notes").is_dir()
    assert not (settings.cache_dir.parent / "elsewhere").exists()


def test_scores_of_a_worker_are_found_by_the_next(settings: Settings) -> None:
    asked = (["film, "], [" great", " terrible"])
    first = load_model(settings, "house-model", None).scorer.score([()], *asked)

    second = load_model(settings, "house-model", None).scorer

    assert second.score([()], *asked).tobytes() == first.tobytes()
    assert second.pairs_found == 1
    assert (settings.cache_dir / "pairs.sqlite3").is_file()


def test_pair_cache_of_no_size_is_none(settings: Settings) -> None:
    load_model(settings.model_copy(update={"pair_cache_mib": 0}), "house-model", None)

    assert not (settings.cache_dir / "pairs.sqlite3").exists()


def test_model_no_longer_allowed_is_named_with_those_that_are(settings: Settings) -> None:
    with pytest.raises(UnknownModel, match="'gone' is no longer one of house-model"):
        load_model(settings, "gone", None)


def test_first_load_of_a_gguf_is_logged(settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="lens_engine")  # as the settings have it by default
    file = tmp_path / "our.gguf"
    file.write_bytes(b"GGUF")  # as much of it as is looked at before the conversion
    offering = settings.model_copy(update={"allowed_models": {"ours": str(file)}, "default_model": "ours"})

    with pytest.raises(UnreadableModel):
        load_model(offering, "ours", None)

    assert "reading our.gguf and converting it to safetensors, which is done once" in caplog.messages[0]
    assert f"the result is kept in {settings.cache_dir}" in caplog.messages[0]

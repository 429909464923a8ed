"""The demonstration runs in a folder whose `.env` is meant for something else."""

import json
from pathlib import Path

import pytest

from app.settings import Settings
from lens_cli.demo import DEMO_ENVIRONMENT, show_answer
from lens_engine.model.local.model_files import BUNDLED_MODEL

HOSTILE = f"""
LENS_REQUIRE_KEYS=true
LENS_ALLOWED_MODELS={json.dumps({"house-model": "/models/house"})}
LENS_DEFAULT_MODEL=house-model
LENS_RETRY_AFTER_SECONDS=60
"""


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".env"
    path.write_text(HOSTILE)
    return path


@pytest.mark.usefixtures("settings_file")
def test_settings_file_of_a_service_does_not_reach_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in DEMO_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    settings = Settings()

    assert not settings.require_keys
    assert settings.allowed_models[BUNDLED_MODEL] == BUNDLED_MODEL
    assert settings.default_model == BUNDLED_MODEL
    assert settings.retry_after_seconds == 1


@pytest.mark.parametrize(
    ("probability", "says"), [(0.596, "positive  60%         Fine."), (0.594, "positive  59% unsure  Fine.")]
)
def test_answer_below_three_fifths_is_unsure(probability: float, says: str) -> None:
    assert show_answer("Fine.", "positive", probability).strip() == says

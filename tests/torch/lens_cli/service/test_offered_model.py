"""`lens up --model`: the name of a model for clients, and the settings of the API and the worker."""

from pathlib import Path

import pytest

from app.settings import Settings
from lens_cli.service.up import OfferedModel
from lens_engine.model.local.model_files import BUNDLED_MODEL
from tests.tiny_models import tiny_causal_lm


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: an empty folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def save_gguf(path: Path) -> None:
    """As much of a GGUF file as is looked at before the model is loaded."""
    path.write_bytes(b"GGUF")


def save_hub_model(folder: Path, name: str) -> None:
    """A model in the hub's cache, as a download leaves it."""
    repository = folder / f"models--{name.replace('/', '--')}"
    tiny_causal_lm("llama").save(repository / "snapshots" / "0123abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abc")


def test_bundled_model_is_offered_under_its_name() -> None:
    assert OfferedModel.find(BUNDLED_MODEL) == OfferedModel(BUNDLED_MODEL, BUNDLED_MODEL)


def test_hub_model_is_offered_under_its_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder / "hub"))
    save_hub_model(folder / "hub", "house/our-llama")
    assert OfferedModel.find("house/our-llama") == OfferedModel("house/our-llama", "house/our-llama")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("./our-llama", "our-llama"),
        ("models/Llama-3.2-1B", "Llama-3.2-1B"),
        ("./Our Llama (v2)", "Our-Llama-v2"),
        ("./模型", "model"),
    ],
)
def test_folder_is_offered_under_its_last_part(folder: Path, path: str, name: str) -> None:
    tiny_causal_lm("llama").save(folder / path)
    assert OfferedModel.find(path) == OfferedModel(name, str(folder / path))


def test_file_is_offered_under_its_name_without_suffix(folder: Path) -> None:
    save_gguf(folder / "our-llama.Q4_1.gguf")
    assert OfferedModel.find("our-llama.Q4_1.gguf") == OfferedModel(
        "our-llama.Q4_1", str(folder / "our-llama.Q4_1.gguf")
    )


def test_path_from_the_home_folder_is_absolute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    tiny_causal_lm("llama").save(folder / "home" / "our-llama")
    assert OfferedModel.find("~/our-llama").reference == str(folder / "home" / "our-llama")


@pytest.mark.parametrize("name", ["our-llama", "house/our-llama", BUNDLED_MODEL])
def test_service_knows_the_offered_model_alone(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text('LENS_ALLOWED_MODELS={"other": "/models/other"}\nLENS_DEFAULT_MODEL=other\n')
    for variable, value in OfferedModel(name, "/models/ü/our-llama").environment.items():
        monkeypatch.setenv(variable, value)

    settings = Settings()

    assert settings.allowed_models == {name: "/models/ü/our-llama"}
    assert settings.default_model == name

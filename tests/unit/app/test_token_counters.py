"""The reader reads the tokenizer of a model once: this takes seconds and much memory."""

from pathlib import Path

from app.selections.datasets import find_counter
from app.settings import Settings
from tests.unit.lens_engine.model.local.test_token_counter import write_tokenizer


def test_tokenizer_is_read_once_when_it_is_there(tmp_path: Path) -> None:
    settings = Settings(allowed_models={"small": str(tmp_path / "model")}, default_model="small")
    assert find_counter(settings, "small") is None
    write_tokenizer(tmp_path / "model")

    found = find_counter(settings, "small")

    assert found is not None
    assert found(["abc"]) == [3]
    assert find_counter(settings, "small") is found

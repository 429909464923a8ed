"""`lens up` and `lens select` refuse the same models in the same words."""

from pathlib import Path

import pytest

from lens_engine.testing import tiny_causal_lm
from tests.unit.lens_cli.test_exit_codes import SELECT, Run


@pytest.mark.parametrize("model", ["./nowhere", "nowhere.gguf", "note.txt", "note.gguf", "./pickled", "./model"])
def test_service_refuses_a_model_in_the_words_of_select(lens: Run, tmp_path: Path, model: str) -> None:
    pickled = tiny_causal_lm("llama").save(tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    (tiny_causal_lm("llama").save(tmp_path / "model") / "tokenizer.json").unlink()
    Path("note.gguf").write_text("a note")
    _, of_select = lens(*SELECT, "--model", model)

    code, errors = lens("up", "--model", model, "--data-dir", "data")

    assert code == 2
    assert errors.startswith("error: ")
    assert of_select.endswith(errors)
    assert not Path("data").exists()

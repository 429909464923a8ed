"""The command says on stderr what takes long while it opens a model."""

import logging
from pathlib import Path

import pytest

from lens_cli.views.progress import steps_on_stderr
from lens_engine.model.local import steps
from tests.tiny_models import tiny_causal_lm
from tests.unit.lens_cli.test_exit_codes import SELECT, Run


@pytest.mark.parametrize("command", [SELECT, ["suggest", "rows.csv"]], ids=["select", "suggest"])
def test_first_load_of_a_gguf_file_is_said_at_once(command: list[str], lens: Run, tmp_path: Path) -> None:
    Path("our.gguf").write_bytes(b"GGUF")  # as much of it as is looked at before the conversion

    _, errors = lens(*command, "--model", "our.gguf")

    lines = errors.splitlines()
    said = lines[lines.index("Loading our.gguf") + 1]
    assert said.startswith("reading our.gguf and converting it to safetensors, which is done once")
    assert f"the result is kept in {tmp_path / 'cache'}, and the next start takes seconds" in said


def test_trial_of_a_model_is_said_where_it_is_slow(lens: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(steps, "PATIENCE_SECONDS", 0.001)
    tiny_causal_lm("llama").save(tmp_path / "model")
    _, errors = lens("suggest", "rows.csv", "--model", "./model", "--dtype", "float32")
    assert "loading the weights of ./model, and trying it on a few random prompts" in errors


def test_logger_is_as_before_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger(steps.__name__)
    before = logger.level, list(logger.handlers)
    with steps_on_stderr():
        logger.info("reading")
    logger.info("not heard")
    assert (logger.level, list(logger.handlers)) == before
    assert capfd.readouterr().err == "reading\n"

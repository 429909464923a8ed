"""`lens export` of token ids, by the tokenizer of the run's model."""

import json
from pathlib import Path

from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.refusals import Refusal
from lens_engine.testing import tiny_causal_lm


def test_logit_bias_takes_token_ids_of_the_model_of_the_run(result: Path, tmp_path: Path) -> None:
    from lens_engine.local.open_tokenizer import open_tokenizer

    model = tiny_causal_lm("llama").save(tmp_path / "model")
    opened = open_tokenizer(str(model))
    arguments = ["export", str(result), "--format", "logit-bias", "--model", str(model)]
    refusal = CliRunner().invoke(create_application(), arguments).exception
    assert isinstance(refusal, Refusal)
    assert "name the files of the run by --model" in str(refusal)

    made = json.loads(result.read_text())
    made["provenance"]["revision"] = opened.revision
    result.write_text(json.dumps(made))
    shown = CliRunner().invoke(create_application(), arguments)
    (great,), (terrible,) = opened.tokenizer.encode_spans([" great", " terrible"])
    assert json.loads(shown.stdout)["request"]["logit_bias"] == {str(great): 100, str(terrible): 100}
    assert shown.stderr == ""

    made["task"]["label_words"][1]["word"] = "dreadful"
    result.write_text(json.dumps(made))
    assert "first token is likeliest" in CliRunner().invoke(create_application(), arguments).stderr

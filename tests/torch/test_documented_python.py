import json
from ast import literal_eval
from pathlib import Path

import pytest

import lens_engine
from lens_engine import Task, Template, Verbalizer
from lens_engine.prompt.record import TaskRecord
from lens_engine.types import Example
from tests.slow.test_documentation import ROOT, code_blocks
from tests.tiny_models import tiny_causal_lm


@pytest.mark.parametrize("use", ["prompt", "probabilities"])
def test_python_of_the_api_gives_the_scores_of_the_labels(
    use: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "great" is one token, the other word several."""
    (source,) = (block for block in code_blocks(ROOT / "docs/api.md", "python") if "from transformers" in block)
    monkeypatch.chdir(tmp_path)
    from lens_engine import load_scorer

    scorer = load_scorer(str(tiny_causal_lm("llama").save(tmp_path / "models/our-llama")), dtype="float32")
    task = Task(Template("{text} {{It}} was {label}."), Verbalizer({"good": "great", "bad": "not so good"}))
    prefix = task.render_prefix([Example(0, "A joy", "good"), Example(1, "A bore", "bad")])
    biases = {"good": 0.5, "bad": -0.25}
    answer = {
        "task": TaskRecord.of(task).model_dump(),
        "prompt": "".join(prefix),
        "use": use,
        "label_biases": [{"label": label, "bias": bias} for label, bias in biases.items()],
    }
    (tmp_path / "support-examples.json").write_text(json.dumps(answer))
    expected = scorer.score([prefix], [task.render_query("I was charged twice for the same order")], task.label_spans)

    exec(compile(source, "api.md", "exec"), {})

    shown = literal_eval(capsys.readouterr().out.splitlines()[-1])
    added = [biases[label] if use == "probabilities" else 0.0 for label in task.labels]
    assert list(shown) == list(task.labels)
    assert list(shown.values()) == pytest.approx((expected[0, 0] + added).tolist(), abs=1e-3)


def test_every_public_name_can_be_imported() -> None:
    for name in lens_engine.__all__:
        assert getattr(lens_engine, name) is not None, name

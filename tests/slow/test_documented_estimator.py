import pytest

from lens_engine import LanguageModel
from lens_engine.testing import TableScorer
from tests.slow.test_documentation import ROOT, code_blocks


def test_python_for_scikit_learn_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (source,) = code_blocks(ROOT / "docs/choosing.md", "python")
    few = source.replace('train.csv")', 'train.csv").groupby("label").head(12)')
    with_a_double = few.replace('open_model("smollm2-135m-instruct")', "LanguageModel(TableScorer())")
    assert source != few != with_a_double
    monkeypatch.chdir(ROOT)
    exec(compile(with_a_double, "choosing.md", "exec"), {"LanguageModel": LanguageModel, "TableScorer": TableScorer})
    shown = capsys.readouterr().out
    assert [one in shown for one in ("Every way to answer", "p_billing")] == [True, True]

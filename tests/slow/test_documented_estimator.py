"""Python of the documentation that fits an estimator."""

import pytest

from lens_engine import LanguageModel
from lens_engine.testing import TableScorer
from tests.slow.test_documentation import ROOT, code_blocks


def test_python_of_scikit_learn_and_pandas_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = code_blocks(ROOT / "docs/choosing.md", "python")
    with_a_double = source.replace('open_model("smollm2-135m-instruct")', "LanguageModel(TableScorer())")
    assert with_a_double != source
    monkeypatch.chdir(ROOT)
    exec(compile(with_a_double, "choosing.md", "exec"), {"LanguageModel": LanguageModel, "TableScorer": TableScorer})
    shown = capsys.readouterr().out
    assert "Every way to answer" in shown
    assert "p_billing" in shown

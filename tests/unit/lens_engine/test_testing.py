import subprocess
import sys

import numpy as np
import pytest

from lens_engine.errors import InvalidVerbalizer, NonFiniteScore, PromptTooLong
from lens_engine.testing import TableScorer


def test_table_scorer_answers_from_its_function_in_the_contracts_shape() -> None:
    scorer = TableScorer(lambda prefix, query, span: -float(len(prefix) * 100 + len(query) * 10 + len(span)))

    label_log_probs = scorer.score([(), ("a b\n",)], ["x", "yy", "zzz"], [" no", " yes"])

    assert label_log_probs.dtype == np.float32
    assert label_log_probs.shape == (2, 3, 2)
    assert label_log_probs[1, 2, 0] == -133.0
    assert scorer.calls == [(2, 3, 2)]
    assert scorer.num_pairs == 6


def test_hashed_answers_depend_on_texts_alone() -> None:
    first = TableScorer().score([("one\n",), ("two\n",)], ["x", "y"], [" no", " yes"])
    second = TableScorer().score([("two\n",)], ["y"], [" yes"])

    assert first[1, 1, 1] == second[0, 0, 0]
    assert len(np.unique(first)) == first.size
    assert (first < 0).all()


def test_hook_sees_the_number_of_the_call_and_can_fail_it() -> None:
    seen: list[int] = []

    def fail_second(call: int) -> None:
        seen.append(call)
        if call == 1:
            raise MemoryError("planted")

    scorer = TableScorer(before_call=fail_second)
    scorer.score([()], ["x"], [" no", " yes"])
    with pytest.raises(MemoryError):
        scorer.score([()], ["x"], [" no", " yes"])
    assert seen == [0, 1]


def test_long_prompt_is_refused_with_its_numbers() -> None:
    scorer = TableScorer(max_prompt_tokens=5)

    with pytest.raises(PromptTooLong, match=r"6 tokens.*prefix 1: 3, query 0: 2, label word: 1") as refusal:
        scorer.score([(), ("a b c",)], ["d e"], [" no"])
    assert refusal.value.field == "examples"


def test_equal_spans_are_refused_naming_both() -> None:
    with pytest.raises(InvalidVerbalizer, match="' yes' and 'yes'"):
        TableScorer().score([()], ["x"], [" yes", "yes"])


def test_non_finite_answer_is_refused() -> None:
    with pytest.raises(NonFiniteScore, match="' yes'"):
        TableScorer(lambda *_: float("nan")).score([()], ["x"], [" yes"])


def test_doubles_import_without_torch() -> None:
    code = "import lens_engine.testing, sys; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

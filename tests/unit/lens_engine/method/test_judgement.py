from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.errors import EndpointError
from lens_engine.method.judgement import EvaluationRows, judge_pairs
from lens_engine.model.limits import mark_floors
from lens_engine.prompt.chat import ask_for_words
from lens_engine.prompt.template import Task
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example

Make = Callable[..., Any]

GOLD = np.array([0, 1, 1, 0])
PROBABILITIES = np.array([[0.6, 0.2], [0.1, 0.3], [0.5, 0.25], [0.4, 0.1]], dtype=np.float32)


def test_judging_asks_for_each_row_after_its_own_prefix(task: Task, make_meter: Make) -> None:
    scorer = TableScorer()
    examples = (Example(0, "a", "positive"), Example(1, "b", "negative"), Example(2, "c", "positive"))
    prefixes = [(), ("x\n",), ("y\n", "z\n")]
    rows = EvaluationRows(task, examples)

    judgement = judge_pairs(make_meter(scorer), prefixes, rows)

    expected = [
        [hashed_log_prob(prefix, query, span) for span in task.label_spans]
        for prefix, query in zip(prefixes, rows.queries, strict=True)
    ]
    assert np.array_equal(judgement.label_log_probs, np.array(expected, np.float32))
    assert judgement.gold.tolist() == [1, 0, 1]
    assert scorer.num_pairs == 3
    with pytest.raises(ValueError, match="zip"):
        judge_pairs(make_meter(scorer), prefixes[:2], rows)


@pytest.mark.parametrize(
    ("floors_of", "said"), [(range(20), "does not list the right label"), (range(150), "lists only 62%")]
)
def test_pairs_are_refused_for_floors_too(floors_of: range, said: str, task: Task, make_meter: Make) -> None:
    def log_prob(_: object, query: str, span: str) -> float:
        is_floor = span == "POSITIVE" and any(f"row {place} " in query for place in floors_of)
        return float(mark_floors(np.array([-1.0]), np.array([is_floor]))[0])

    chat = ask_for_words(task, ("NEGATIVE", "POSITIVE"))
    rows = EvaluationRows(chat, tuple(Example(place, f"row {place} of all", "positive") for place in range(200)))
    meter = make_meter(TableScorer(log_prob), label_spans=chat.label_spans)

    with pytest.raises(EndpointError, match=said):
        judge_pairs(meter, [()] * 200, rows)

"""A run is priced where no model is loaded."""

from collections.abc import Sequence

import pytest

from lens_engine.metering.counting_scorer import CountingScorer
from lens_engine.suggestion.suggest import price_suggestion, suggest_for_rows
from lens_engine.testing import StatesTableScorer, TableScorer
from lens_engine.types import Example


def count_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_tokens_are_counted_by_the_tokenizer_and_else_by_characters() -> None:
    texts = ["a warm film", "", "dull"]
    assert CountingScorer("small", count_words).count_tokens(texts) == [3, 0, 1]
    assert CountingScorer("small", None).count_tokens(texts) == [3, 0, 1]
    assert CountingScorer("small", None).count_tokens(["abcde"]) == [2]


@pytest.mark.parametrize("known", [TableScorer(), StatesTableScorer()], ids=["labels", "states"])
def test_price_is_that_of_a_model_that_counts_alike(known: TableScorer) -> None:
    rows = [Example(row, f"a film of part {row}", ("good", "bad")[row % 2]) for row in range(120)]
    counting = CountingScorer("small", known.count_tokens, num_layers=getattr(known, "num_layers", 0))
    priced, expected = (price_suggestion(suggest_for_rows(rows), one, lambda *_: 100.0) for one in (counting, known))
    assert priced.plans == expected.plans
    assert priced.plans[0].cost is not None
    assert priced.plans[0].seconds == priced.plans[0].cost.tokens / 100


def test_it_scores_nothing() -> None:
    scorer = CountingScorer("small", None)
    for ask in (lambda: scorer.score([], [], []), lambda: scorer.states(None, [], [])):  # type: ignore[arg-type]
        with pytest.raises(NotImplementedError, match="counts tokens alone"):
            ask()

import numpy as np

from benchmarks.measuring.cheap_scorer import CheapScorer
from lens_engine.testing import TableScorer

PREFIXES, QUERIES, SPANS = [(), ("one.\n",)], ["two was", "three was", "four was"], [" a", " b"]


def test_same_call_same_numbers_and_other_texts_other_numbers() -> None:
    scorer = CheapScorer()

    first = scorer.score(PREFIXES, QUERIES, SPANS)

    assert first.shape == (2, 3, 2)
    assert first.dtype == np.float32
    assert np.array_equal(scorer.score(PREFIXES, QUERIES, SPANS), first)
    assert not np.array_equal(scorer.score(PREFIXES, ["five was", *QUERIES[1:]], SPANS), first)


def test_model_answers_every_third_call() -> None:
    model = TableScorer()
    scorer = CheapScorer(model, model_every=3)

    answers = [scorer.score(PREFIXES, QUERIES, SPANS) for _ in range(6)]

    assert model.num_calls == 2
    assert np.array_equal(answers[2], TableScorer().score(PREFIXES, QUERIES, SPANS))
    assert scorer.count_tokens(["one two"]) == [2]
    assert scorer.max_prompt_tokens == model.max_prompt_tokens

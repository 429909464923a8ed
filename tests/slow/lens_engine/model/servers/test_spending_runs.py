"""Selections through a server that takes money: where they end, what they paid, and that nothing is paid twice."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.scorer import EndpointScorer, open_endpoint
from lens_engine.model.spending import TokenPrices
from lens_engine.opening import open_model
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.estimator import LensClassifier
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.preparation import estimate_cost
from lens_engine.run.state import Checkpoint, CheckpointStore, MemoryCheckpointStore
from lens_engine.testing import TableScorer
from lens_engine.types import Example, StopReason
from tests.endpoints.double import MODEL, Double, HashBehind, serving
from tests.unit.lens_engine.model.servers.conftest import Connect

PRICES = TokenPrices(input=10.0, output=40.0, cached=5.0)
OPTIONS: dict[str, Any] = {
    "num_demonstrations": 2,
    "classifier": {"fit_rows": 12},
    "search": {"sets": 6, "forms": ["fixed"]},
}
PROBLEM = Problem(
    Task("{text} It was {label}.", {"bad": "B", "good": "G"}),
    [Example(row, f"text {row}", ("bad", "good")[row % 2]) for row in range(80)],
    [Example(row, f"test {row}", ("bad", "good")[row % 2]) for row in range(8)],
)


def select(
    scorer: EndpointScorer, max_cost: float | None = None, store: CheckpointStore | None = None
) -> SelectionResult:
    config = SelectionConfig.model_validate(OPTIONS | {"budget": {"max_cost": max_cost}})
    return select_support_examples(PROBLEM, scorer, config, checkpoints=store, progress=False)


def usd_of(result: SelectionResult) -> float:
    assert result.cost.paid is not None
    assert result.cost.paid.usd is not None
    return result.cost.paid.usd


def count_again(double: Double) -> int:
    """Number of prompts that were asked again, but for those of the checks at connection."""
    counts = Counter(prompt for prompt in double.prompts if b"Question:" not in bytes(prompt[1:]))
    return sum(number - 1 for number in counts.values())


@pytest.fixture(scope="module")
def whole() -> SelectionResult:
    """A run without a limit, whose answers nobody keeps."""
    with serving(Double(HashBehind())) as double:
        scorer = open_endpoint(Endpoint("vllm", double.url, MODEL, prices=PRICES), answer_bytes=None)
        result = select(scorer)
        scorer.close()
    return result


def test_result_says_what_the_server_counted(connect: Connect, double: Double) -> None:
    scorer = connect(prices=PRICES)
    num_checks = double.num_prompts
    result = select(scorer)
    asked, paid = double.prompts[num_checks:], result.cost.paid
    tokens = sum(map(len, asked))
    assert paid is not None
    assert (paid.tokens, paid.cached_tokens) == (tokens, 0)
    assert paid.usd == pytest.approx((tokens * 10 + len(asked) * 40) / 1e6)
    assert f"of {tokens:,} tokens for" in result.summary()


def test_run_ends_at_a_limit_and_pays_nothing_twice(connect: Connect, double: Double, whole: SelectionResult) -> None:
    double.prompts.clear()
    limit = usd_of(whole) * 0.6
    first = select(connect(prices=PRICES), limit)
    assert (first.stop_reason, first.partial) == (StopReason.BUDGET, True)
    assert first.answer.test is not None, "the reserve covers the test rows"
    assert limit / 2 < usd_of(first) <= limit
    again = select(connect(prices=PRICES), usd_of(whole) * 2)
    assert again.stop_reason is StopReason.COMPLETED
    assert again.support_examples == whole.support_examples
    assert count_again(double) == 0
    assert usd_of(again) < usd_of(whole)


def test_small_prompts_are_judged_where_the_limit_covers_no_large_one(connect: Connect, whole: SelectionResult) -> None:
    result = select(connect(prices=PRICES), usd_of(whole) * 0.15)
    assert result.stop_reason is StopReason.BUDGET
    assert result.answer.judged is not None


def test_run_whose_answers_are_on_disk_costs_nothing(connect: Connect) -> None:
    first = select(connect(prices=PRICES))
    second = select(connect(prices=PRICES), usd_of(first) * 2)
    assert usd_of(second) == 0
    assert second.cost.pairs_from_cache == second.cost.pairs
    assert second.support_examples == first.support_examples


def test_money_is_no_part_of_the_digest(connect: Connect, whole: SelectionResult) -> None:
    free = select(connect())
    assert free.digest == whole.digest
    assert free.cost.paid is not None
    assert free.cost.paid.usd is None


class CuttingStore(MemoryCheckpointStore):
    """Raises after some checkpoints, as a process that is killed."""

    left = 4

    def save(self, checkpoint: Checkpoint) -> None:
        super().save(Checkpoint.from_bytes(checkpoint.to_bytes()))
        self.left -= 1
        if not self.left:
            raise ConnectionAbortedError


def test_resumed_run_does_not_spend_the_limit_anew(connect: Connect, double: Double, whole: SelectionResult) -> None:
    store, limit, before = CuttingStore(), usd_of(whole) * 0.7, double.num_prompts
    with pytest.raises(ConnectionAbortedError):
        select(connect(prices=PRICES), limit, store)
    resumed = select(connect(prices=PRICES), limit, store)
    double.prompts = double.prompts[before:]
    assert resumed.stop_reason is StopReason.BUDGET
    assert usd_of(resumed) <= limit
    asked = [prompt for prompt in double.prompts if b"Question:" not in bytes(prompt[1:])]
    assert usd_of(resumed) == pytest.approx((sum(map(len, asked)) * 10 + len(asked) * 40) / 1e6)


def test_limit_that_the_test_rows_need_alone_is_refused(connect: Connect) -> None:
    with pytest.raises(InvalidConfig, match=r"max_cost is 0.0001 USD, and .* \(if any\) may cost") as refused:
        select(connect(prices=PRICES), 0.0001)
    assert refused.value.field == "options.budget.max_cost"


@pytest.mark.parametrize(
    ("make_scorer", "why"),
    [(lambda connect: connect(), "the endpoint has no prices"), (lambda _: TableScorer(), "nothing is paid")],
)
def test_limit_without_prices_is_refused(connect: Connect, make_scorer: Callable[[Connect], Any], why: str) -> None:
    with pytest.raises(InvalidConfig, match=why):
        select(make_scorer(connect), 1.0)


def test_limit_of_a_run_does_not_bind_the_next(connect: Connect, whole: SelectionResult) -> None:
    scorer = connect(prices=PRICES)
    select(scorer, usd_of(whole) * 0.6)
    assert scorer.spending.limit is None
    assert select(scorer).stop_reason is StopReason.COMPLETED


def test_estimate_is_an_upper_bound(connect: Connect, double: Double, whole: SelectionResult) -> None:
    scorer, config = connect(prices=PRICES), SelectionConfig.model_validate(OPTIONS)
    double.prompts.clear()
    num_checks = double.num_prompts
    estimate = estimate_cost(PROBLEM, scorer, config)
    sample = double.num_prompts - num_checks
    assert estimate.seconds is not None
    assert estimate.sample is not None
    assert estimate.usd is not None
    assert estimate.sample.usd < 0.2 * usd_of(whole)
    assert usd_of(whole) <= estimate.usd < 3 * usd_of(whole)
    assert 0 < sample <= 32 * 16
    second = estimate_cost(PROBLEM, scorer, config)
    assert second.seconds is not None, "other prompts are measured where answers are on disk"
    select(scorer)
    assert count_again(double) == 0


def test_estimator_fits_and_predicts_at_a_server_and_a_clone_shares_it(double: Double, tmp_path: Path) -> None:
    model = open_model(f"vllm:{MODEL}@{double.url}", cache_dir=tmp_path)
    texts = [f"text {row}" for row in range(80)]
    options = OPTIONS | {"classifier": {"kind": "label_probabilities", "fit_rows": 12}}
    estimator = clone(LensClassifier(model, label_words={0: "B", 1: "G"}, options=options, progress=False))
    estimator.fit(texts, [row % 2 for row in range(80)])
    assert estimator.model is model
    assert set(estimator.predict(texts[:5])) <= {0, 1}
    assert estimator.result_.cost.paid is not None
    assert isinstance(model.scorer, EndpointScorer)
    model.scorer.close()

"""What requests cost: prices, reservations, and what waits."""

from concurrent.futures import Future

import pytest

from lens_engine.errors import BudgetSpent, InvalidConfig
from lens_engine.scoring.spending import Paid, Spending, TokenPrices, find_paid_scorer
from lens_engine.testing import TableScorer
from tests.endpoints.double import HashBehind
from tests.unit.lens_engine.servers.conftest import Connect

PRICES = TokenPrices(input=2.0, output=8.0, cached=1.0)


def usage(prompt: int, written: int, cached: int = 0) -> dict[str, object]:
    details = {"cached_tokens": cached}
    return {"prompt_tokens": prompt, "completion_tokens": written, "prompt_tokens_details": details}


def test_answer_is_settled_by_what_the_server_counted() -> None:
    spending = Spending(PRICES)
    spending.reserve(1.0)
    spending.settle(1.0, usage(1_000_000, 1_000_000, cached=500_000), is_paid=True)
    assert spending.paid == Paid(1.0 + 0.5 + 8.0, 1, 1_000_000, 500_000)


def test_answer_that_counts_nothing_costs_what_was_reserved() -> None:
    spending = Spending(PRICES)
    spending.reserve(0.25)
    spending.settle(0.25, None, is_paid=True)
    assert spending.paid == Paid(usd=0.25, requests=1)


def test_refused_request_costs_nothing() -> None:
    spending = Spending(PRICES)
    spending.limit = 1.0
    spending.reserve(1.0)
    spending.settle(1.0, None, is_paid=False)
    assert spending.paid == Paid()
    assert spending.affords(1.0)


def test_request_beyond_the_limit_is_not_sent() -> None:
    spending = Spending(PRICES)
    spending.limit = 1.0
    spending.reserve(0.75)
    with pytest.raises(BudgetSpent, match=r"0\.7500 reserved of 1\.0000"):
        spending.reserve(0.5)


def test_free_request_is_sent_when_nothing_is_left() -> None:
    spending = Spending(PRICES)
    spending.limit = -1.0
    spending.reserve(0.0)


def test_requests_that_wait_are_ahead_until_they_are_done() -> None:
    spending, answered, cancelled = Spending(PRICES), Future[None](), Future[None]()
    spending.expect(0.5, answered)
    spending.expect(0.25, cancelled)
    assert spending.ahead == 0.75
    answered.set_result(None)
    assert spending.ahead == 0.25
    cancelled.cancel()
    assert spending.ahead == 0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(InvalidConfig, match="USD per million"):
        TokenPrices(input=price, output=1.0)


def test_bill_has_each_read_of_label_words_of_several_tokens(connect: Connect) -> None:
    scorer = connect(prices=PRICES)
    prefixes, queries, spans = [("x\n",)], [f"Text {number}. It was" for number in range(20)], ["ga", "gb"]
    prompt_tokens = sum(scorer.count_tokens([f"x\n{query}" for query in queries]))
    scorer.count_tokens([*prefixes[0], *queries, *spans])  # asks the server
    bill, before = scorer.bill(20, prompt_tokens, spans), scorer.spending.paid
    scorer.score(prefixes, queries, spans)
    paid = scorer.spending.paid - before
    leading = 2 * 20 * len(HashBehind().tokenize("", special=True))
    assert (bill.requests, bill.tokens + leading) == (paid.requests, paid.tokens)
    assert bill.usd == pytest.approx(paid.usd - leading * 2.0 / 1e6)
    assert scorer.spending.ahead == pytest.approx(0)


def test_model_on_this_machine_pays_nothing() -> None:
    assert find_paid_scorer(TableScorer()) is None

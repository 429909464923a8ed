"""What a run refuses before it begins: a budget that cannot pay for a first result, and a limit on unknown prices."""

from collections.abc import Sequence
from typing import Any

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.metering.limits import Money
from lens_engine.run.comparison_plan import reserve_for_test
from lens_engine.run.wordings import price_wordings
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.spending import find_paid_scorer
from lens_engine.search.base import Method, Run


def check_budget(runs: Sequence[Run], method: Method[Any], money: Money | None = None) -> None:
    """
    Args:
        runs: the run in each wording.
        money: of the run; None before its scorer is known.

    Raises:
        InvalidConfig: the budget does not cover the choice among the wordings, the first step and the test rows.
    """
    budget, first, reserve = runs[0].config.budget, method.first_step(), reserve_for_test(runs[0], method)
    worded = price_wordings(runs)
    pairs = (worded + first.cost + reserve).pairs
    if budget.max_pairs is not None and budget.max_pairs < pairs:
        raise _refuse_limit("max_pairs", f"{budget.max_pairs}", first.name, f"takes {pairs}")
    least = None if money is None else money.least(worded + first.cost, reserve)
    if least is not None:
        raise _refuse_limit("max_cost", f"{budget.max_cost:g} USD", first.name, f"may cost {least:.2g}")


def _refuse_limit(name: str, limit: str, step: str, needed: str) -> InvalidConfig:
    return InvalidConfig(
        f"{name} is {limit}, and {step} with the test rows {needed}; "
        "raise it, or lower filtering.candidates or splits.test",
        field=f"options.budget.{name}",
    )


def check_prices(config: SelectionConfig, scorer: LabelScorer) -> None:
    """
    Raises:
        InvalidConfig: the cost is limited, and nobody knows what a request costs.
    """
    paid = find_paid_scorer(scorer)
    refuse_unpriced(
        config, is_served=paid is not None, has_prices=paid is not None and paid.spending.prices is not None
    )


def refuse_unpriced(config: SelectionConfig, *, is_served: bool, has_prices: bool) -> None:
    """As `check_prices`, for a model that is not opened yet."""
    if config.budget.max_cost is None or has_prices:
        return
    why = (
        "the endpoint has no prices; give those of a million tokens (TokenPrices)"
        if is_served
        else "the model is on this machine, where nothing is paid; leave it out, or set max_seconds"
    )
    raise InvalidConfig(f"max_cost limits the cost of requests to a server: {why}", field="options.budget.max_cost")

"""What a run refuses before it begins: a budget that cannot pay for a first result, and a limit on unknown prices."""

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.metering.cost import Cost
from lens_engine.metering.limits import Money
from lens_engine.run.judge import plan_rungs_of_judging
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.spending import find_paid_scorer
from lens_engine.search.setup import Setup


def check_budget(setup: Setup, reserve: Cost, money: Money | None = None) -> None:
    """
    Args:
        reserve: of the test rows.
        money: of the run; None before its scorer is known.

    Raises:
        InvalidConfig: the budget does not cover the first rows of one prompt, and the test rows.
    """
    budget, (rung, *_) = setup.config.budget, plan_rungs_of_judging(len(setup.rows.judging), 2)
    first = setup.prices.judging(1, rung.end)
    pairs = (first + reserve).pairs
    if budget.max_pairs is not None and budget.max_pairs < pairs:
        raise _refuse_limit("max_pairs", f"{budget.max_pairs}", f"takes {pairs}")
    least = None if money is None else money.least(first, reserve)
    if least is not None:
        raise _refuse_limit("max_cost", f"{budget.max_cost:g} USD", f"may cost {least:.2g}")


def _refuse_limit(name: str, limit: str, needed: str) -> InvalidConfig:
    return InvalidConfig(
        f"{name} is {limit}, and one prompt on the first judging rows with the test rows {needed}; raise it, or lower "
        "rows.test",
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

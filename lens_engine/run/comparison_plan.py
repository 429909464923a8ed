"""The steps of the comparison, in order of importance, each with the most that it costs."""

from typing import Any

from lens_engine.metering.cost import Cost
from lens_engine.run.state import ComparisonState
from lens_engine.search.base import Method, Run

CONFIRMED = "confirmation"
"""The step that judges the finalists on the confirmation rows."""

TESTED = "test"
"""The step that judges the support examples on the test rows."""

FORMS = "forms"
"""The step that judges forms of the prompt other than fixed demonstrations."""

WORDS = "bag_of_words"

OWED = frozenset({TESTED, WORDS})
"""Steps that no budget leaves out, but for money that is spent and for twice the budget of seconds. The bag of words
asks no model, so that every run that ends has a classifier."""


def plan_comparison(run: Run, method: Method[Any], comparison: ComparisonState) -> dict[str, Cost]:
    """The steps that the options ask for, by name.

    Args:
        comparison: what is done, and what the choice of a prompt cost so far. Random-and-validation may cost as much,
            with the steps of the choice that are not done yet.
    """
    prices, rows, comparisons = run.prices, run.rows, run.config.comparisons
    steps, choice = dict[str, Cost](), _price_choice(run, method)
    if CONFIRMED in choice:
        steps[CONFIRMED] = choice[CONFIRMED]
    steps[TESTED] = reserve_for_test(run, method)
    if FORMS in choice:
        steps[FORMS] = choice[FORMS] + prices.testing_form()
    if comparisons != "none" or rows.confirmation:
        steps["zero_shot"] = prices.judging(1, len(rows.validation) + len(rows.confirmation), 0) + prices.testing(0)
    steps |= _plan_classifier(run)
    if comparisons != "none" and method.is_search:
        number = count_rivals(run, method, comparison)
        best = prices.confirming(len(run.uses)) + prices.judging(len(run.uses), len(rows.test))
        steps["random_and_validation"] = prices.validating(max(number - comparison.tally.drawn, 0)) + best
    return steps


def count_rivals(run: Run, method: Method[Any], comparison: ComparisonState) -> int:
    """Number of permutations of random-and-validation: as many as the choice of the prompt pays for.

    Never more than its plan pays for, because an estimate says the most that a run costs; demonstrations that are
    longer than the mean would exceed it in tokens.
    """
    prices, choice = run.prices, _price_choice(run, method)
    ahead = (cost for name, cost in choice.items() if name not in comparison.done)
    planned = sum((*method.price().values(), *choice.values()), Cost())
    return min(prices.rival_permutations(cost) for cost in (sum(ahead, comparison.choice), planned))


def _price_choice(run: Run, method: Method[Any]) -> dict[str, Cost]:
    """The steps of the comparison that have a part in the choice of the prompt, and what that part costs at most."""
    prices, rows, found = run.prices, run.rows, dict[str, Cost]()
    if rows.confirmation and method.num_demonstrations:
        known = 0 if method.judges_finalists else len(rows.validation)
        found[CONFIRMED] = prices.judging(method.num_finalists, known + len(rows.confirmation))
    if method.is_search and prices.forms:
        found[FORMS] = prices.choosing_form()
    return found


def price_comparison(run: Run, method: Method[Any]) -> Cost:
    """The price of the whole phase, after a search that judges as many permutations as it may."""
    planned = ComparisonState().paying(sum(method.price().values(), Cost()))
    return sum(plan_comparison(run, method, planned).values(), Cost())


def reserve_for_test(run: Run, method: Method[Any]) -> Cost:
    """What every budget must leave: the test rows of the support examples for both uses."""
    num_prompts = min(len(run.uses), method.num_finalists)
    return run.prices.judging(num_prompts, len(run.rows.test), method.num_demonstrations)


def _plan_classifier(run: Run) -> dict[str, Cost]:
    """The candidates for the classifier that the options and the model allow."""
    prices, options = run.prices, run.config.classifier
    kind, n = options.kind, run.config.num_demonstrations
    num_rows = prices.fit_rows(n) + len(run.rows.test)
    steps = {}
    if kind in ("auto", "bag_of_words"):
        steps[WORDS] = Cost()
    if kind in ("auto", "states") and run.shows_states:
        steps["states_zero_shot"] = prices.judging(1, num_rows, 0)
        steps["states_one_prompt"] = prices.judging(1, num_rows, n)
    if run.reads_label_probabilities:
        steps["label_probabilities"] = prices.judging(1, num_rows, n)
    return steps

"""The steps of the evaluation, in order of importance, each with the most that it costs."""

from typing import Any

from lens_engine.metering.cost import Cost
from lens_engine.methods.base import Method, Run
from lens_engine.run.forms import list_forms, price_forms

TESTED = "test"
"""The step that judges the support examples on the test rows."""

FORMS = "forms"
"""The step that judges forms of the prompt other than fixed demonstrations."""

WORDS = "bag_of_words"

OWED = frozenset({TESTED, WORDS})
"""Steps that no budget leaves out, but for money that is spent and for twice the budget of seconds. The bag of words
asks no model, so that every run that ends has a classifier."""

NUM_ORDERS = 8
"""Number of other orders of the support examples."""


def plan_evaluation(run: Run, method: Method[Any], search_pairs: int, drawn: int = 0) -> dict[str, Cost]:
    """The steps that the options ask for, by name.

    Args:
        search_pairs: pairs spent before the evaluation, or planned; random-and-validation gets as many.
        drawn: random permutations that were judged already.
    """
    prices, rows, comparisons = run.prices, run.rows, run.config.comparisons
    n = method.num_demonstrations
    steps = {}
    if rows.confirmation and n:
        known = 0 if method.judges_finalists else len(rows.validation)
        steps["confirmation"] = prices.judging(method.num_finalists, known + len(rows.confirmation))
    steps[TESTED] = reserve_for_test(run, method)
    if method.is_search and list_forms(run):
        steps[FORMS] = price_forms(run)
    if comparisons != "none" or rows.confirmation:
        steps["zero_shot"] = prices.judging(1, len(rows.validation) + len(rows.confirmation), 0) + prices.testing(0)
    steps |= _plan_classifier(run)
    if comparisons != "none" and method.is_search:
        number = prices.rival_permutations(search_pairs + steps.get("confirmation", Cost()).pairs)
        best = prices.confirming(len(run.uses)) + prices.judging(len(run.uses), len(rows.test))
        steps["random_and_validation"] = prices.validating(max(number - drawn, 0)) + best
    if comparisons == "all" and n:
        steps["order"] = prices.comparing(NUM_ORDERS)
    return steps


def price_evaluation(run: Run, method: Method[Any]) -> Cost:
    """The price of the whole phase, after a search that judges as many permutations as it may."""
    planned = sum((cost.pairs for cost in method.price().values()), 0)
    return sum(plan_evaluation(run, method, planned).values(), Cost())


def reserve_for_test(run: Run, method: Method[Any]) -> Cost:
    """What every budget must leave: the test rows of the support examples for both uses."""
    num_prompts = min(len(run.uses), method.num_finalists)
    return run.prices.judging(num_prompts, len(run.rows.test), method.num_demonstrations)


def _plan_classifier(run: Run) -> dict[str, Cost]:
    """The candidates for the classifier that the options and the model allow."""
    prices, options = run.prices, run.config.classifier
    kind, n = options.kind, run.config.num_demonstrations
    num_rows = prices.fit_rows(max(run.most_prompts, 1) * n) + len(run.rows.test)
    steps = {}
    if kind in ("auto", "bag_of_words"):
        steps[WORDS] = Cost()
    if kind in ("auto", "states") and run.shows_states:
        steps["states_zero_shot"] = prices.judging(1, num_rows, 0)
        steps["states_one_prompt"] = prices.judging(1, num_rows, n)
    if run.most_prompts:
        steps["label_probabilities"] = prices.judging(run.most_prompts, num_rows, n)
    return steps

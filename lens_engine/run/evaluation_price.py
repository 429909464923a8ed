"""What the evaluation costs: the comparisons that the options ask for, and the classifiers."""

from typing import Any

from lens_engine.metering.cost import Cost
from lens_engine.methods.base import Method, Run
from lens_engine.plan.comparisons import COMPARISONS
from lens_engine.run.prompt_sets import PromptSets


def price_evaluation(run: Run, method: Method[Any]) -> Cost:
    """The price of the whole phase, after a search that judges as many permutations as it may."""
    comparisons, prices = COMPARISONS[run.config.comparisons], run.prices
    n = method.num_demonstrations
    cost = prices.confirming(method.num_finalists) + prices.testing(n)
    if "zero_shot" in comparisons.names:
        cost += prices.testing(demonstrations=0)
    if "random" in comparisons.names:
        cost += prices.comparing(comparisons.random_permutations)
    if "order" in comparisons.names and n:
        cost += prices.comparing(comparisons.orders)
    prompt_sets = PromptSets(run, method, method.planned_pairs or 0, method.num_finalists)
    if "random_and_validation" in comparisons.names and method.planned_pairs is not None:
        cost += prices.rivalling(prompt_sets.num_random)
    return sum((prompt_sets.price(name) for name in prompt_sets.wanted), cost + price_ensemble(run, method))


def reserve_for_ensemble(run: Run, method: Method[Any]) -> Cost:
    """The price of the test rows of the classifier's prompts."""
    if PromptSets(run, method, 0, 0).is_paper:
        return Cost()
    return run.prices.classifying(method.num_prompts, 0, method.num_demonstrations)


def price_ensemble(run: Run, method: Method[Any]) -> Cost:
    """The price of the classifier; nothing if it is the single prompt, whose test rows are scored anyway."""
    prompt_sets = PromptSets(run, method, 0, 0)
    return Cost() if prompt_sets.is_paper else prompt_sets.price("ensemble")

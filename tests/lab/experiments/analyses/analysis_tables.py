"""Scorers whose accuracy for a prompt is known beforehand.

Rows are named by their number, which decides their gold label: even ones are positive ("great"). A scorer here
says of each prefix whether, or for which rows, it makes the model right.
"""

import re
from collections.abc import Callable

from lens_engine.scoring.base import LabelScorer, Prefix
from lens_engine.testing import TableScorer
from tests.lab.experiments.experiment_doubles import TableModels

IsRight = Callable[[Prefix, int], bool]
"""Whether the model is right on the row of this number after this prefix."""


def scorer_that_is(is_right: IsRight, name: str = "table") -> LabelScorer:
    """A scorer whose likeliest label is the gold one where `is_right` says so, and another one elsewhere."""

    def log_prob(prefix: Prefix, query: str, span: str) -> float:
        number = number_of(query)
        if number is None:  # the content-free input
            return -1.0
        return -0.5 if is_gold(number, span) == is_right(prefix, number) else -1.0

    return TableScorer(log_prob, name=name)


def models_that_are(is_right: IsRight) -> TableModels:
    return TableModels(lambda reference: scorer_that_is(is_right, reference))


def number_of(text: str) -> int | None:
    found: list[str] = re.findall(r"\d+", text)
    return int(found[-1]) if found else None


def is_gold(number: int, span_or_demonstration: str) -> bool:
    return (number % 2 == 0) == ("great" in span_or_demonstration)


def is_helpful(demonstration: str) -> bool:
    """Half of the rows of each label are."""
    number = number_of(demonstration)
    return number is not None and number // 2 % 2 == 0


def right_by_helpful(prefix: Prefix, number: int) -> bool:
    """Each helpful demonstration makes another fifth of the rows right, beside the fifth that always is."""
    return number // 2 % 5 <= sum(map(is_helpful, prefix))


def right_by_last(prefix: Prefix, number: int) -> bool:  # noqa: ARG001
    """Right on everything when the last demonstration is positive, on nothing otherwise."""
    return bool(prefix) and "great" in prefix[-1]


def right_by_labels(prefix: Prefix, number: int) -> bool:  # noqa: ARG001
    """Right on everything when at most one demonstration has the wrong label, on nothing otherwise."""
    wrong = sum(not is_gold(number_of(one) or 0, one) for one in prefix)
    return bool(prefix) and wrong <= 1

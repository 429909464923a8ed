"""Answers on test rows, for results that are made by hand."""

from typing import Any

from lens_engine.result import TestAnswers


def make_answers(num_uses: int = 2, **changes: Any) -> TestAnswers:
    """Answers on no rows, as of a run that tested nothing.

    Args:
        num_uses: number of support examples of the result.
        changes: fields that differ.
    """
    none = (None,) * num_uses
    values = {
        "rows": (),
        "gold": (),
        "support_examples": none,
        "fixed": none,
        "classifier": None,
        "support_examples_probabilities": none,
        "classifier_probabilities": None,
    }
    return TestAnswers.model_validate(values | changes)

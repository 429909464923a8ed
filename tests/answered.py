"""Answers row by row, for results that are made by hand."""

from typing import Any

from lens_engine.result import Answers


def make_answers(num_uses: int = 2, **changes: Any) -> Answers:
    """Answers on no rows, as of a run that judged nothing.

    Args:
        num_uses: number of support examples of the result.
        changes: fields that differ.
    """
    none = (None,) * num_uses
    values = {
        "is_test": False,
        "rows": (),
        "gold": (),
        "support_examples": none,
        "classifier": None,
        "support_examples_probabilities": none,
        "classifier_probabilities": None,
    }
    return Answers.model_validate(values | changes)

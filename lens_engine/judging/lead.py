"""Answers of a prompt under one use, and the lead of one prompt over another on the same rows."""

import numpy as np

from lens_engine.classifier.macro_f1 import standard_error, value_rows
from lens_engine.config import Objective, Use
from lens_engine.judging.judgement import Judgement
from lens_engine.judging.objective import find_label_biases
from lens_engine.types import IndexArray


def find_answers(judgement: Judgement, use: Use) -> IndexArray:
    """`[rows]`, indices of labels: of the likeliest label word or, for probabilities, after biases of these rows."""
    if use == "prompt":
        return judgement.predictions
    biased = judgement.label_log_probs.astype(np.float64) + find_label_biases(judgement)
    return np.asarray(biased.argmax(axis=1))


def leads_by_an_error(answers: IndexArray, others: IndexArray, gold: IndexArray, objective: Objective) -> bool:
    """Whether the first answers are better by more than a standard error of the difference, paired by row."""
    difference = value_rows(answers, gold, objective) - value_rows(others, gold, objective)
    return bool(difference.mean() > standard_error(difference))

"""Answers of a prompt under one use, and the lead of one prompt over another on the same rows."""

import numpy as np

from lens_engine.classifier.macro_f1 import standard_error, value_rows
from lens_engine.config import Objective, Use
from lens_engine.scoring.no_answer import keep_unanswered, pick_answers
from lens_engine.search.judgement import Judgement
from lens_engine.search.objective import find_label_biases
from lens_engine.types import FloatArray, IndexArray


def find_answers(judgement: Judgement, biases: FloatArray | None) -> IndexArray:
    """`[rows]`, indices of labels: of the likeliest label word, after biases `[labels]` (nats) if there are any."""
    if biases is None:
        return judgement.predictions
    scores = judgement.label_log_probs.astype(np.float64)
    return pick_answers(keep_unanswered(scores + biases, scores), judgement.gold)


def answer_by_use(judgement: Judgement, use: Use) -> IndexArray:
    """As `find_answers`; for probabilities with the label biases of these rows."""
    return find_answers(judgement, find_label_biases(judgement) if use == "probabilities" else None)


def leads_by_an_error(answers: IndexArray, others: IndexArray, gold: IndexArray, objective: Objective) -> bool:
    """Whether the first answers are better by more than a standard error of the difference, paired by row."""
    difference = value_rows(answers, gold, objective) - value_rows(others, gold, objective)
    return bool(difference.mean() > standard_error(difference))

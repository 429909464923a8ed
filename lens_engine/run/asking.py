"""What a result says of how the model was asked: labels that a chat did not list, and answers without probabilities."""

import numpy as np

from lens_engine.run.state import Evaluation, JudgedPrompt
from lens_engine.scoring.floors import count_true_floors, find_floors, has_floors
from lens_engine.search.base import Run
from lens_engine.types import Example

ANSWERS_ALONE = (
    "the model gives answers and no probabilities: the search began with random examples, without filtering; a prompt "
    "has no label biases, and its log-loss and calibration error say nothing"
)


def describe_asking(run: Run, evaluation: Evaluation) -> list[str]:
    """Warnings of a chat."""
    if not run.has_probabilities:
        return [ANSWERS_ALONE]
    return _describe_floors(run, evaluation) if has_floors(run.task) else []


def _describe_floors(run: Run, evaluation: Evaluation) -> list[str]:
    """How many labels were not listed on the rows that judged and tested prompts."""
    judged = [*evaluation.judged, *evaluation.rivals, *filter(None, [evaluation.zero_shot])]
    rows = (*run.rows.validation, *run.rows.confirmation)
    found = [_count(run, one, rows) for one in judged] + [_count(run, one, run.rows.test) for one in evaluation.tested]
    values, floors, true_values, true_floors = (int(column) for column in np.array(found).reshape(-1, 4).sum(axis=0))
    if not floors:
        return []
    return [
        f"{floors:,} of {values:,} values of labels are upper bounds, because the server lists the 20 most probable "
        f"tokens alone; so are {true_floors:,} of the {true_values:,} values of right labels"
    ]


def _count(run: Run, prompt: JudgedPrompt, examples: tuple[Example, ...]) -> tuple[int, int, int, int]:
    scores = prompt.log_probs.array
    gold = run.task.index_labels(examples[: len(scores)])
    return scores.size, int(find_floors(scores).sum()), len(scores), count_true_floors(scores, gold)

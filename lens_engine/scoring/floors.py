"""Floors: values that are only upper bounds, because a chat server lists few tokens.

A label that is not listed gets the smallest value that is. Such a floor has the last bit of its float32 set, and every
other value of a chat has it clear; the change is below a millionth of the value. So whoever holds scores, of whatever
checkpoint or cache, sees how many are floors, and a resumed run counts as one that never stopped.
"""

import numpy as np
from numpy.typing import NDArray

from lens_engine.errors import EndpointError
from lens_engine.task.chat import ChatTask
from lens_engine.task.template import Task
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs

MOST_FLOORS, MOST_TRUE_FLOORS = 0.30, 0.05
"""Largest shares of floors: among all values, and among those of the rows' own labels."""

_LEAST_VALUES = 200
"""Number of values from which a share is believed."""

ASK_FOR_ANSWERS = 'ask for sampled answers: answers="sampled" in a file of servers (docs/servers.md)'
"""What helps where a chat API gives no log-probabilities, or too few."""

_REMEDY = (
    "write a template and label words with which the model answers by a label word alone, take another model, or "
    + ASK_FOR_ANSWERS
)


def has_floors(task: Task) -> bool:
    """Whether scores of a task may be floors."""
    return isinstance(task, ChatTask) and not task.chat.is_sampled


def mark_floors(values: FloatArray, is_floor: NDArray[np.bool_]) -> LabelLogProbs:
    """Values as float32, with the last bit of the floors set and of the others clear."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits & ~np.uint32(1)) | is_floor).astype(np.uint32).view(np.float32)


def find_floors(values: LabelLogProbs) -> NDArray[np.bool_]:
    """Whether each value of a chat's scores is a floor."""
    return (np.ascontiguousarray(values, dtype=np.float32).view(np.uint32) & np.uint32(1)).astype(bool)


def check_floors(scores: LabelLogProbs, model: str) -> None:
    """
    Args:
        scores: of a chat.

    Raises:
        EndpointError: more than `MOST_FLOORS` of the values are floors.
    """
    share = find_floors(scores).mean()
    if scores.size >= _LEAST_VALUES and share > MOST_FLOORS:
        raise EndpointError(
            f"{model} lists only {1 - share:.0%} of the label words among its most probable tokens "
            f"(check: most probable tokens): {_REMEDY}"
        )


def count_true_floors(scores: LabelLogProbs, gold: IndexArray) -> int:
    """Number of rows whose own label is a floor.

    Args:
        scores: `[..., rows, labels]` of a chat.
        gold: `[rows]`, index of each row's label.
    """
    return int(np.take_along_axis(find_floors(scores), _spread(gold, scores.ndim), axis=-1).sum())


def check_true_floors(scores: LabelLogProbs, gold: IndexArray, model: str) -> None:
    """
    Args:
        scores, gold: as `count_true_floors`.

    Raises:
        EndpointError: more than `MOST_TRUE_FLOORS` of the rows' own labels are floors.
    """
    values = scores.size // scores.shape[-1]
    if values >= _LEAST_VALUES and (floors := count_true_floors(scores, gold)) > MOST_TRUE_FLOORS * values:
        raise EndpointError(
            f"{model} does not list the right label among its most probable tokens for {floors} of {values} rows "
            f"(check: right labels): {_REMEDY}"
        )


def _spread(gold: IndexArray, ndim: int) -> IndexArray:
    """`[1, ..., rows, 1]`."""
    return gold.reshape((1,) * (ndim - 2) + (len(gold), 1))

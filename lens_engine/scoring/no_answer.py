"""Rows without an answer: all labels of such a row have one of three values, which tells why.

A chat server may refuse a prompt for its content, a model that thinks may reach its limit before it answers, and what
it says may be no label. Whoever holds scores, of whatever checkpoint or cache, sees how many rows have no answer, so a
resumed run counts as one that never stopped. Such a row is wrong, whatever its label.
"""

import numpy as np
from numpy.typing import NDArray

from lens_engine.errors import EndpointError
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs

NO_LABEL, REFUSED, UNFINISHED = -9.0, -9.25, -9.5
"""Values of all labels (nats) of a row whose answer is no label, that was refused, and whose thought did not end."""

_MOST_REFUSED = 0.1


def find_rows(scores: FloatArray | LabelLogProbs, *values: float) -> NDArray[np.bool_]:
    """Whether all labels of a row have one of these values, by default of those above: `[..., labels]` -> `[...]`."""
    first = scores[..., :1]
    return np.asarray(
        np.isin(first, values or (NO_LABEL, REFUSED, UNFINISHED))[..., 0] & (scores == first).all(axis=-1)
    )


def keep_unanswered(found: FloatArray, scores: FloatArray | LabelLogProbs) -> FloatArray:
    """What was made of scores `[..., labels]`, but for rows without an answer, which stay as they are."""
    return np.asarray(np.where(find_rows(scores)[..., None], scores, found))


def pick_answers(scores: FloatArray | LabelLogProbs, gold: IndexArray) -> IndexArray:
    """The likeliest label of each row  # [rows]. A row without an answer gets a label that is not its own.

    Args:
        scores: `[rows, labels]`.
        gold: `[rows]`, index of each row's label.
    """
    return np.asarray(np.where(find_rows(scores), (gold + 1) % scores.shape[-1], scores.argmax(axis=-1)))


def count_refused(scores: LabelLogProbs) -> int:
    """Number of rows that were refused for their content."""
    return int(find_rows(scores, REFUSED).sum())


def check_refused(refused: int, asked: int, model: str) -> None:
    """
    Raises:
        EndpointError: more than a tenth of what was asked was refused for its content.
    """
    if refused > _MOST_REFUSED * asked:
        raise EndpointError(
            f"{model} refuses {refused:,} of {asked:,} requests for their content, more than a tenth (check: content): "
            "leave such texts out, loosen the filter of the server, or take another model"
        )

"""Checks that every scorer makes before and after a forward; floors, rows without an answer; stops of a forward."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import local

import numpy as np
from numpy.typing import NDArray

from lens_engine.errors import EndpointError, NonFiniteScore, PromptTooLong
from lens_engine.prompt.chat import ChatTask
from lens_engine.prompt.template import Task
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, States


def check_prompt_lengths(
    prefix_lengths: Sequence[int], query_lengths: Sequence[int], longest_span: int, max_prompt_tokens: int
) -> None:
    """Refuse the whole call if its longest prompt exceeds the context; lengths are in tokens."""
    if not prefix_lengths or not query_lengths:
        return
    prefix, query = int(np.argmax(prefix_lengths)), int(np.argmax(query_lengths))
    parts = {
        f"prefix {prefix}": prefix_lengths[prefix],
        f"query {query}": query_lengths[query],
        "label word": longest_span,
    }
    _check_prompt_length(parts, max_prompt_tokens)


def check_pair_lengths(
    prefix_lengths: Sequence[int], query_lengths: Sequence[int], longest_span: int, max_prompt_tokens: int
) -> None:
    """As `check_prompt_lengths`, where query i follows prefix i alone."""
    if not prefix_lengths:
        return
    place = int(np.argmax(np.add(prefix_lengths, query_lengths)))
    prefix, query = prefix_lengths[place], query_lengths[place]
    parts = {f"prefix {place}": prefix, f"query {place}": query, "label word": longest_span}
    _check_prompt_length(parts, max_prompt_tokens)


def _check_prompt_length(parts: Mapping[str, int], max_prompt_tokens: int) -> None:
    """`parts`: number of tokens by the name of each part of the prompt."""
    total = sum(parts.values())
    if total <= max_prompt_tokens:
        return
    lengths = ", ".join(f"{name}: {length}" for name, length in parts.items())
    raise PromptTooLong(
        f"a prompt of {total} tokens ({lengths}) exceeds the model's {max_prompt_tokens}; shorten the texts or use "
        "fewer demonstrations",
        field="examples",
    )


def check_finite(label_log_probs: LabelLogProbs, label_spans: Sequence[str]) -> None:
    """Refuse NaN and infinities in `[prefixes, queries, labels]`, or `[pairs, labels]`."""
    finite = np.isfinite(label_log_probs)
    if finite.all():
        return
    *place, label = (int(index) for index in np.argwhere(~finite)[0])
    names = ("prefix", "query") if len(place) == 2 else ("pair",)
    where = ", ".join(f"{name} {index}" for name, index in zip(names, place, strict=True))
    raise NonFiniteScore(
        f"the model gave {label_log_probs[*place, label]} for label word {label_spans[label]!r} ({where}); try dtype "
        "bfloat16 or float32, or another model"
    )


def check_layers(layers: Sequence[int], num_layers: int) -> None:
    """Refuse layers that a model does not have."""
    if not layers:
        raise ValueError("there are no layers to read states of")
    for layer in layers:
        if not 1 <= layer <= num_layers:
            raise ValueError(f"layer {layer} is not from 1 to {num_layers}")


def check_finite_states(states: States, layers: Sequence[int]) -> None:
    """Refuse NaN and infinities."""
    finite = np.isfinite(states)
    if finite.all():
        return
    layer, pooling, query, entry = (int(index) for index in np.argwhere(~finite)[0])
    raise NonFiniteScore(
        f"the model gave {states[layer, pooling, query, entry]} in layer {layers[layer]} (query {query}); try dtype "
        "bfloat16 or float32, or another model"
    )


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


# A label that is not listed gets the smallest value that is. Such a floor has the last bit of its float32 set, and
# every other value of a chat has it clear; the change is below a millionth of the value. So whoever holds scores, of
# whatever checkpoint or cache, sees how many are floors, and a resumed run counts as one that never stopped.
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
    """Refuse scores of a chat of which too many are floors. Raises EndpointError."""
    share = find_floors(scores).mean()
    if scores.size >= _LEAST_VALUES and share > MOST_FLOORS:
        raise EndpointError(
            f"{model} lists only {1 - share:.0%} of the label words among its most probable tokens "
            f"(check: most probable tokens): {_REMEDY}"
        )


def check_true_floors(scores: LabelLogProbs, gold: IndexArray, model: str) -> None:
    """The same of the rows' own labels; `scores`: `[..., rows, labels]`, `gold`: `[rows]`."""
    places = gold.reshape((1,) * (scores.ndim - 2) + (len(gold), 1))
    floors = int(np.take_along_axis(find_floors(scores), places, axis=-1).sum())
    if (values := scores.size // scores.shape[-1]) >= _LEAST_VALUES and floors > MOST_TRUE_FLOORS * values:
        raise EndpointError(
            f"{model} does not list the right label among its most probable tokens for {floors} of {values} rows "
            f"(check: right labels): {_REMEDY}"
        )


NO_LABEL, REFUSED, UNFINISHED = -9.0, -9.25, -9.5
"""Values of all labels (nats) of a row whose answer is no label, that was refused, and whose thought did not end."""

_MOST_REFUSED = 0.1


# A chat server may refuse a prompt for its content, a model that thinks may reach its limit before it answers, and what
# it says may be no label. Whoever holds scores, of whatever checkpoint or cache, sees how many rows have no answer, so
# a resumed run counts as one that never stopped. Such a row is wrong, whatever its label.
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
    if refused > _MOST_REFUSED * asked:
        raise EndpointError(
            f"{model} refuses {refused:,} of {asked:,} requests for their content, more than a tenth (check: content): "
            "leave such texts out, loosen the filter of the server, or take another model"
        )


_SECONDS = 0.2
"""Least time between two looks."""


class _Watch(local):
    look: Callable[[], None] | None = None
    next_look = 0.0


_watch = _Watch()


@contextmanager
def interrupted_by(look: Callable[[], None]) -> Iterator[None]:
    """A context in which `look` is called now and then while this thread computes. What it raises ends the forward."""
    before, _watch.look = _watch.look, look
    try:
        yield
    finally:
        _watch.look = before


def look_up(*_: object) -> None:
    """Call what the context names, if the last time was not just now. A hook before each decoder layer."""
    if _watch.look is None or time.monotonic() < _watch.next_look:
        return
    _watch.next_look = time.monotonic() + _SECONDS
    _watch.look()

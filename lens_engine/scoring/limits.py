"""Checks that every scorer makes before and after a forward."""

from collections.abc import Mapping, Sequence

import numpy as np

from lens_engine.errors import NonFiniteScore, PromptTooLong
from lens_engine.types import LabelLogProbs, States


def check_prompt_lengths(
    prefix_lengths: Sequence[int], query_lengths: Sequence[int], longest_span: int, max_prompt_tokens: int
) -> None:
    """Refuse the whole call if its longest prompt exceeds the context; lengths are in tokens.

    Raises:
        PromptTooLong: the message names the prefix and the query, gives their lengths, and says what to do.
    """
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
    """Refuse NaN and infinities.

    Args:
        label_log_probs: `[prefixes, queries, labels]`, or `[pairs, labels]`.

    Raises:
        NonFiniteScore: the message names prefix and query, or the pair, and the label word of the first bad value.
    """
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
    """Refuse layers that a model does not have.

    Raises:
        ValueError: there is no layer, or a layer is not from 1 to `num_layers`; the message names it.
    """
    if not layers:
        raise ValueError("there are no layers to read states of")
    for layer in layers:
        if not 1 <= layer <= num_layers:
            raise ValueError(f"layer {layer} is not from 1 to {num_layers}")


def check_finite_states(states: States, layers: Sequence[int]) -> None:
    """Refuse NaN and infinities.

    Raises:
        NonFiniteScore: the message names layer and query of the first bad value.
    """
    finite = np.isfinite(states)
    if finite.all():
        return
    layer, pooling, query, entry = (int(index) for index in np.argwhere(~finite)[0])
    raise NonFiniteScore(
        f"the model gave {states[layer, pooling, query, entry]} in layer {layers[layer]} (query {query}); try dtype "
        "bfloat16 or float32, or another model"
    )

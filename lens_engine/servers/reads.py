"""Label words of several tokens as reads: each inner node of the label trie is one read of its children."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from lens_engine.errors import EndpointError, LensError
from lens_engine.scoring.labels import build_label_trie
from lens_engine.servers.contract import Part, ReadBatch, ReadPlan
from lens_engine.servers.refusal import clean_words
from lens_engine.types import FloatArray

NO_LOG_PROB = -9000.0
"""Some servers write -9999 for "none"."""

_ABOVE_ZERO = 1e-4
"""Rounding may lift the logarithm of a probability of one above 0."""


@contextmanager
def in_form_of(kind: str, where: str) -> Iterator[None]:
    """A context that reads what a server of this kind answered.

    Args:
        where: the server, for errors.
    """
    try:
        yield
    except LensError:
        raise
    except Exception as error:  # also a number that is too large, and a structure that is too deep
        raise EndpointError(
            f"{where} answers in a form that {kind} does not have ({type(error).__name__}); is it another kind of "
            "server?",
            said=clean_words(str(error)),
        ) from error


def plan_reads(label_spans: Sequence[str], span_tokens: Sequence[tuple[int, ...]]) -> ReadPlan:
    trie = build_label_trie(label_spans, span_tokens)
    wanted: list[list[int]] = [[] for _ in trie.tokens]
    for node, token in dict.fromkeys(trie.flat_reads):
        wanted[node].append(token)
    return ReadPlan(
        suffixes=tuple(tuple(trie.tokens[step] for step in trie.path(node)) for node in range(len(trie.tokens))),
        wanted=tuple(map(tuple, wanted)),
        paths=tuple(tuple((node, wanted[node].index(token)) for node, token in path) for path in trie.reads),
    )


def pick_values(batch: ReadBatch, found: Sequence[Mapping[Part, float]], where: str) -> FloatArray:
    """The wanted values of each prompt  # [prompts, wanted].

    Args:
        found: of each prompt, the log-probability by wanted part.
        where: the server, for errors.
    """
    if len(found) != len(batch.endings):
        raise EndpointError(f"{where} answered {len(found)} of {len(batch.endings)} prompts of a request")
    for values in found:
        missing = [part for part in batch.wanted if part not in values]
        if missing:
            raise EndpointError(
                f"{where} gave no log-probability of {missing[0]!r}, which was asked for: it ignores the field, is "
                "too old, or another program answers at this address"
            )
    picked = np.array([[values[part] for part in batch.wanted] for values in found], dtype=np.float64)
    check_log_probs(picked, where)
    return picked


def check_log_probs(values: FloatArray, where: str) -> None:
    wrong = ~np.isfinite(values) | (values > _ABOVE_ZERO) | (values <= NO_LOG_PROB)
    if wrong.any():
        raise EndpointError(
            f"{where} gave {values[wrong][0]:g} as a log-probability (check: values): the model or its server gives "
            "none; take another model, or a server that gives log-probabilities"
        )

"""`LabelScorer` over a loaded causal language model and an executor."""

import dataclasses
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from lens_engine.errors import InvalidDataset, OutOfMemory
from lens_engine.model.base import LabelScorer, Prefix, ScorerIdentity, find_shared
from lens_engine.model.labels import build_label_trie
from lens_engine.model.limits import (
    check_finite,
    check_finite_states,
    check_layers,
    check_pair_lengths,
    check_prompt_lengths,
)
from lens_engine.model.local.executors import Executor, TokenCounters, Workload
from lens_engine.model.local.executors.base import StateTap
from lens_engine.model.local.memory import free_memory, is_out_of_memory
from lens_engine.model.tokenization import SegmentTokenizer, Tokens
from lens_engine.types import LabelLogProbs, States

SMALLEST_BUDGET = 32
"""Smallest token budget that is tried: if memory runs out at this size, the call fails (tokens)."""

Numbers = TypeVar("Numbers", bound=NDArray[np.float32])

_NO_LABELS = build_label_trie(("",), ((0,),))
"""A trie that feeds no token after a query."""

_log = logging.getLogger(__name__)


class CausalLMScorer(LabelScorer):
    """Scores label words with a causal language model.

    The prompts of a call are run in forwards of about `token_budget` tokens. If the device runs out of memory,
    `token_budget` is halved permanently and the call starts again.
    """

    def __init__(
        self,
        executor: Executor,
        tokenizer: SegmentTokenizer,
        identity: ScorerIdentity,
        *,
        max_prompt_tokens: int,
        token_budget: int,
        counters: TokenCounters,
        surroundings: tuple[str, ...] = (),
        tap: StateTap | None = None,
    ) -> None:
        self._executor = executor
        self._tap = tap
        self._tokenizer = tokenizer
        self._identity = identity
        self._counters = counters
        self.max_prompt_tokens = max_prompt_tokens
        #: largest forward (tokens); set it only to the value that another device of the same kind was halved to
        self.token_budget = token_budget
        self.surroundings = surroundings  #: see `describe_surroundings`
        self.num_layers = 0 if tap is None else tap.num_layers

    @property
    def identity(self) -> ScorerIdentity:
        return dataclasses.replace(self._identity, token_budget=self.token_budget)

    @property
    def fed_tokens(self) -> int:
        return self._counters.fed_tokens

    @property
    def counters(self) -> TokenCounters:
        """A copy of the counts of tokens and forwards since loading."""
        return dataclasses.replace(self._counters)

    def release(self) -> None:
        """Free the memory that is held between calls. Later scores are the same, but may take longer."""
        self._executor.release()

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._tokenizer.count(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[Tokens]:
        """Token ids of each label span."""
        return self._tokenizer.encode_spans(label_spans)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """As `LabelScorer.score`.

        Raises:
            InvalidDataset: a query has no tokens.
            OutOfMemory: the device has too little memory even for the smallest forward.
        """
        trie = build_label_trie(label_spans, self._tokenizer.encode_spans(label_spans))
        label_log_probs: LabelLogProbs = np.zeros((len(prefixes), len(queries), len(label_spans)), np.float32)
        if not label_log_probs.size:
            return label_log_probs
        for rows, is_first in self._split_by_beginning(prefixes):
            work = Workload(
                prefixes=tuple(self._tokenizer.encode_prefixes([prefixes[row] for row in rows])),
                queries=self._encode_queries(queries, is_first=is_first),
                trie=trie,
            )
            check_prompt_lengths(work.prefix_lengths, work.query_lengths, trie.longest_span, self.max_prompt_tokens)
            label_log_probs[rows] = self._run(work, partial(self._executor.run, work))
        check_finite(label_log_probs, label_spans)
        return label_log_probs

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        """As `LabelScorer.score_pairs`. Segments with which all prefixes begin are computed once.

        Raises:
            InvalidDataset, OutOfMemory: as `score`.
        """
        pairs = [*zip(prefixes, queries, strict=True)]
        trie = build_label_trie(label_spans, self._tokenizer.encode_spans(label_spans))
        if not pairs:
            return np.zeros((0, len(label_spans)), np.float32)
        beginnings = self._tokenizer.encode_prefixes(prefixes)
        encoded = {first: self._encode_queries(queries, is_first=first) for first in {not one for one in prefixes}}
        endings = [encoded[not prefix][place] for place, (prefix, _) in enumerate(pairs)]
        held, asked = [*map(len, beginnings)], [*map(len, endings)]
        check_pair_lengths(held, asked, trie.longest_span, self.max_prompt_tokens)
        beginning = find_shared(prefixes)
        (shared,) = self._tokenizer.encode_prefixes([beginning]) if beginning else ((),)
        work = Workload(
            prefixes=(shared,),
            queries=tuple(first[len(shared) :] + last for first, last in zip(beginnings, endings, strict=True)),
            trie=trie,
        )
        label_log_probs: LabelLogProbs = self._run(work, partial(self._executor.run, work))[0]
        check_finite(label_log_probs, label_spans)
        return label_log_probs

    @property
    def weight_bytes(self) -> int:
        """Memory that the weights take (bytes)."""
        return 0 if self._tap is None else self._tap.weight_bytes

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """As `LabelScorer.states`.

        Raises:
            InvalidDataset: a query has no tokens.
            OutOfMemory: the device has too little memory even for the smallest forward.
        """
        check_layers(layers, self.num_layers)
        tap = self._tap
        assert tap is not None
        work = Workload(
            prefixes=tuple(self._tokenizer.encode_prefixes([prefix])),
            queries=self._encode_queries(queries, is_first=not prefix),
            trie=_NO_LABELS,
        )
        check_prompt_lengths(work.prefix_lengths, work.query_lengths, 0, self.max_prompt_tokens)
        states = self._run(work, lambda budget: self._executor.run_states(work, budget, tap, layers))
        check_finite_states(states, layers)
        return states

    def _split_by_beginning(self, prefixes: Sequence[Prefix]) -> list[tuple[list[int], bool]]:
        """Groups of prefixes, and whether a query after them is first in its prompt.

        There are two groups only if the tokenizer gives a first text other tokens.
        """
        if not self._tokenizer.distinguishes_first:
            return [(list(range(len(prefixes))), True)]
        empty = [row for row, prefix in enumerate(prefixes) if not prefix]
        filled = [row for row, prefix in enumerate(prefixes) if prefix]
        return [(rows, is_first) for rows, is_first in ((empty, True), (filled, False)) if rows]

    def _encode_queries(self, queries: Sequence[str], *, is_first: bool) -> tuple[Tokens, ...]:
        encoded = self._tokenizer.encode_queries(queries, is_first=is_first)
        for index, tokens in enumerate(encoded):
            if not tokens:
                raise InvalidDataset(
                    f"query {index} of {len(queries)} has no tokens; remove the example, or add words to the template "
                    "between text and label",
                    field="examples",
                )
        return tuple(encoded)

    def _run(self, work: Workload, compute: Callable[[int], Numbers]) -> Numbers:
        while (found := self._try(compute)) is None:
            # Here the error is gone, and with it the frames of the forward, which held its activations.
            released = self._executor.release()  # first free the prefixes held between calls
            if not released:
                self._halve_budget()
            free_memory()
        self._counters.num_pairs += len(work.prefixes) * len(work.queries)
        self._counters.ideal_tokens += work.ideal_tokens
        return found

    def _try(self, compute: Callable[[int], Numbers]) -> Numbers | None:
        """Compute in forwards of `token_budget` tokens; None if memory ran out."""
        try:
            with torch.inference_mode():
                return compute(self.token_budget)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            reason = str(error)  # not the error, which a handler of logs might keep
            _log.warning("memory ran out with %d tokens at a time: %s", self.token_budget, reason)
            return None

    def _halve_budget(self) -> None:
        if self.token_budget // 2 < SMALLEST_BUDGET:
            raise OutOfMemory(
                f"{self._identity.device} has too little memory for {self._identity.model} even with "
                f"{self.token_budget} tokens at a time; use a smaller model, shorter texts or fewer demonstrations"
            )
        self.token_budget //= 2

"""The packed executor: one flat row without padding; each prefix once, then its queries, which do not see each other.

The model runs over one long row in which positions restart in every prompt. Attention is replaced by a
registered function. It attends to the prompt's prefix and to the token's own segment, and merges the
passes by their log-sum-exp. All other operations of a decoder layer act on single tokens, so the
numbers equal those of prompts run one at a time.

This is right only for models that mix tokens by plain softmax attention alone. `refuse_unknown` refuses
other kinds of attention, and the self-check at loading finds any other mixing of tokens. Sliding attention is
plain attention for prompts that fit its window; a workload with a longer one is refused (`WindowedExecutor`).
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.model.labels import build_label_trie
from lens_engine.model.local.executors.base import (
    Executor,
    ExecutorName,
    StateTap,
    TokenCounters,
    TokenRanges,
    Workload,
    read_log_probs,
    sum_label_words,
)
from lens_engine.model.local.executors.in_turn import KeyValues
from lens_engine.model.local.executors.layout import (
    ALL_LAYERS,
    HeldPrefixes,
    Layouts,
    PackedExecutionError,
    PackedInputs,
)
from lens_engine.model.local.executors.packing import Forward, plan
from lens_engine.model.local.executors.rows import by_pair, float32_logits
from lens_engine.model.local.executors.transfer import download
from lens_engine.model.local.executors.varlen import AttendSequences, UnsupportedHeads, choose_kernel
from lens_engine.types import LabelLogProbs, States

_FULL, _SLIDING = "full_attention", "sliding_attention"
_ONE_TOKEN = Workload(((),), ((0,),), build_label_trie(("",), ((0,),)))


def find_window(model: Any) -> int | None:
    """The smallest window of a model that calls `packed_attention` (tokens); None if all layers see everything.

    Two places are asked, because either may be silent: the config, and what each layer tells the attention function of
    one token.
    """
    windows = set[int]()
    if (configured := _read_window(model.config.get_text_config())) is not None:
        windows.add(configured)
    weights = next(model.parameters())
    (forward,) = plan(_ONE_TOKEN.prefix_lengths, _ONE_TOKEN.query_lengths, budget=1)
    inputs = Layouts(_ONE_TOKEN, weights, kernel=None).lay_out(forward, {})
    with torch.inference_mode():
        model(logits_to_keep=inputs.label_positions, **inputs.arguments)
    return min(windows | inputs.layout.windows, default=None)


def _read_window(config: Any) -> int | None:
    """The window that the config of a language model gives to some layers (tokens)."""
    kinds = set(getattr(config, "layer_types", None) or ())
    if others := sorted(kinds - {_FULL, _SLIDING}):
        raise PackedExecutionError(f"layers of type {', '.join(others)} are neither full nor sliding attention")
    if kinds and _SLIDING not in kinds:
        return None
    window = getattr(config, "sliding_window", None)
    if window is None and not kinds:
        return None
    if not isinstance(window, int):
        raise PackedExecutionError(f"the config gives its sliding attention the window {window!r}, which is no length")
    return window


class WindowedExecutor:
    """Packs a workload whose prompts all fit the model's window, and gives any other to a second executor.

    A layer of sliding attention sees as many tokens as its window, which in such prompts are all that come before.
    The choice follows from the lengths of the workload alone, so equal workloads give equal bits.
    """

    name: ClassVar[ExecutorName] = "packed"

    def __init__(self, packed: Executor, beyond: Executor, window: int) -> None:
        """`beyond` runs the workloads with a prompt of more than `window` tokens."""
        self._packed = packed
        self._beyond = beyond
        self._window = window
        self._has_warned = False

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        return self._choose(work).run(work, budget)

    def run_states(self, work: Workload, budget: int, tap: StateTap, layers: Sequence[int]) -> States:
        return self._choose(work).run_states(work, budget, tap, layers)

    def release(self) -> bool:
        released = [self._packed.release(), self._beyond.release()]
        return any(released)

    def _choose(self, work: Workload) -> Executor:
        if work.longest_prompt <= self._window:
            return self._packed
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "a prompt of %d tokens exceeds the window of the model's sliding attention (%d tokens): "
                "calls with such prompts run slower, with the executor %s",
                work.longest_prompt,
                self._window,
                self._beyond.name,
            )
        return self._beyond


ATTENTION_NAME = "lens_packed"
"""The name under which `packed_attention` is registered with transformers and set on the model."""

_ALONE_FROM = {"cpu": 128}
"""Least length of a prefix that gets its own forward (tokens). Shorter forwards are slow, above all on CUDA."""

_ONLY_ALONE_FROM = 16
"""The same where a call has one prefix. Who asks for text after text has one, and shall not feed it each time."""

_HELD_BYTES = 512 << 20

_log = logging.getLogger(__name__)


class PackedExecutor:
    """Runs one packed row in each forward; pads only within attention, and feeds no token twice.

    Long prefixes have their own forwards and are held between calls, so that a search that judges a permutation on
    further rows feeds its prefix once.
    """

    name: ClassVar[ExecutorName] = "packed"

    def __init__(self, model: Any, counters: TokenCounters, kernel: AttendSequences | None = None) -> None:
        """`kernel` attends to concatenated sequences; None uses torch's kernel if the device has it."""
        self._model = model
        self._counters = counters
        self._attention = _AttentionSwitch(model)
        self._weights = next(model.parameters())
        self._kernel = kernel or choose_kernel(self._weights.device, self._weights.dtype)
        self._alone_from = _ALONE_FROM.get(self._weights.device.type)
        self._held = HeldPrefixes(_HELD_BYTES)

    @cached_property
    def window(self) -> int | None:
        """Longest prompt that every layer sees whole (tokens fed); None if there is no limit."""
        with self._attention.on():
            return find_window(self._model)

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        reads = work.new_reads()
        with float32_logits(self._model):
            self._run(
                work, budget, lambda inputs: self._start_reading(self._forward(inputs), inputs, reads), ALL_LAYERS
            )
        return sum_label_words(reads, work.trie)

    def run_states(self, work: Workload, budget: int, tap: StateTap, layers: Sequence[int]) -> States:
        states = tap.new_states(len(work.queries), layers)

        def read(inputs: PackedInputs) -> None:
            ranges = TokenRanges.of(*inputs.query_ranges, tap.device)
            found = tap.run(layers, ranges, logits_to_keep=inputs.label_positions, **inputs.arguments)
            self._count(inputs)
            by_pair(states)[inputs.pairs] = found.cpu().numpy()

        self._run(work, budget, read, max(layers))
        return states

    def _run(
        self, work: Workload, budget: int, start: Callable[[PackedInputs], Callable[[], None] | None], depth: int
    ) -> None:
        if self.window is not None and work.longest_prompt > self.window:
            raise PackedExecutionError(
                f"a prompt of {work.longest_prompt} tokens exceeds the sliding window of {self.window} tokens"
            )
        try:
            self._run_forwards(work, budget, start, depth)
        except UnsupportedHeads as error:
            _log.warning("packed attention runs without its kernel, which may be much slower: %s", error)
            self._kernel = None
            self._run_forwards(work, budget, start, depth)

    def _run_forwards(
        self, work: Workload, budget: int, start: Callable[[PackedInputs], Callable[[], None] | None], depth: int
    ) -> None:
        """Each forward is laid out while the device computes the one before, and what is read is fetched later still.

        Args:
            start: runs a forward, and returns what fetches its numbers.
            depth: number of layers that each forward computes.
        """
        kept = self._find_held(work, depth)
        alone_from = self._alone_from if self._alone_from is None or len(work.prefixes) > 1 else _ONLY_ALONE_FROM
        layouts = Layouts(work, self._weights, self._kernel)
        forwards = plan(
            work.prefix_lengths,
            work.query_lengths,
            budget,
            tail=work.trie.num_fed,
            alone_from=alone_from,
            held=kept.keys(),
        )
        waiting: Callable[[], None] | None = None
        with self._attention.on():
            for forward in forwards:
                started = start(layouts.lay_out(forward, kept))
                if waiting is not None:
                    waiting()
                waiting = started
                self._hold(forward, work, kept, alone_from, depth)
        if waiting is not None:
            waiting()

    def release(self) -> bool:
        held_any = self._held.num_bytes > 0
        self._held.clear()
        return held_any

    def _find_held(self, work: Workload, depth: int) -> dict[int, KeyValues]:
        found = {index: self._held.get(prefix, depth) for index, prefix in enumerate(work.prefixes)}
        return {index: key_values for index, key_values in found.items() if key_values is not None}

    def _hold(
        self, forward: Forward, work: Workload, kept: dict[int, KeyValues], alone_from: int | None, depth: int
    ) -> None:
        """Hold the prefixes fed alone for later calls, and free those that no later forward of this call needs."""
        for group in forward.groups:
            prefix = work.prefixes[group.prefix]
            if group.feeds_prefix and alone_from is not None and len(prefix) >= alone_from:
                self._held.put(prefix, kept[group.prefix], depth)
            if not group.keeps_prefix:
                kept.pop(group.prefix, None)

    def _forward(self, inputs: PackedInputs) -> Tensor:
        outputs = self._model(logits_to_keep=inputs.label_positions, **inputs.arguments)
        self._count(inputs)
        logits: Tensor = outputs.logits[0]
        return logits

    def _count(self, inputs: PackedInputs) -> None:
        self._counters.count_forward(inputs.ids)
        if inputs.layout.num_calls == 0:
            raise PackedExecutionError("the model did not call the registered attention function")

    def _start_reading(
        self, logits: Tensor, inputs: PackedInputs, reads: NDArray[np.float32]
    ) -> Callable[[], None] | None:
        """Queue the reading of `logits  # [segments * nodes, vocabulary]`; the function returned writes to `reads`."""
        prefixes, queries = inputs.pairs
        if not len(queries):
            return None
        fetch = download(read_log_probs(logits, inputs.reads))

        def write() -> None:
            reads[prefixes, queries] = fetch().reshape(len(queries), -1)

        return write


class _AttentionSwitch:
    """Gives the model `packed_attention` for a while. transformers' own switch walks all modules at every turn."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._own: list[tuple[Any, str | None]] | None = None  #: the model's configs, and what each had before

    @contextmanager
    def on(self) -> Iterator[None]:
        """A context in which the model uses `packed_attention`; afterwards it has its own attention function again."""
        if self._own is None:
            self._own = self._find_own()
        for config, _ in self._own:
            config._attn_implementation_internal = ATTENTION_NAME
        try:
            yield
        finally:
            for config, own in self._own:
                config._attn_implementation_internal = own

    def _find_own(self) -> list[tuple[Any, str | None]]:
        """The configs that transformers' switch changes, with their own attention functions."""
        model = self._model
        if not model._supports_attention_backend:
            raise PackedExecutionError("the architecture does not look up its attention function")
        configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
        before = [(config, config._attn_implementation) for config in configs.values()]
        model.set_attn_implementation(ATTENTION_NAME)
        changed = [(config, own) for config, own in before if config._attn_implementation != own]
        for config, own in changed:
            config._attn_implementation_internal = own
        if all(config is not model.config for config, _ in changed):  # transformers only warns, and keeps its own
            raise PackedExecutionError("the architecture did not take the registered attention function")
        return changed

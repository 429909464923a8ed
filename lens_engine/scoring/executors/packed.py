"""The packed executor: one flat row without padding; each prefix once, then its queries, which do not see each other.

The model runs over one long row in which positions restart in every prompt. Attention is replaced by a
registered function. It attends twice, to the prompt's prefix and to the token's own segment, and merges
the two passes by their log-sum-exp. All other operations of a decoder layer act on single tokens, so the
numbers equal those of prompts run one at a time.

This is right only for models that mix tokens by plain softmax attention alone. `refuse_unknown` refuses
other kinds of attention, and the self-check at loading finds any other mixing of tokens.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from lens_engine.scoring.executors.base import (
    ExecutorName,
    TokenCounters,
    Workload,
    read_log_probs,
    sum_label_words,
)
from lens_engine.scoring.executors.head import float32_logits
from lens_engine.scoring.executors.held_prefixes import HeldPrefixes, KeyValues
from lens_engine.scoring.executors.layout import PackedInputs, lay_out
from lens_engine.scoring.executors.packed_attention import PackedExecutionError
from lens_engine.scoring.executors.packing import Forward, plan
from lens_engine.scoring.executors.varlen import AttendSequences, choose_kernel
from lens_engine.types import LabelLogProbs

ATTENTION_NAME = "lens_packed"
"""The name under which `packed_attention` is registered with transformers and set on the model."""

_ALONE_FROM = {"cpu": 128}
"""Least length of a prefix that gets its own forward (tokens). Shorter forwards are slow, above all on CUDA."""

_HELD_BYTES = 512 << 20


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
        weights = next(model.parameters())
        self._device, self._dtype = weights.device, weights.dtype
        self._kernel = kernel or choose_kernel(self._device, self._dtype)
        self._alone_from = _ALONE_FROM.get(self._device.type)
        self._held = HeldPrefixes(_HELD_BYTES)

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        reads = work.new_reads()
        kept = self._find_held(work)
        forwards = plan(
            work.prefix_lengths,
            work.query_lengths,
            budget,
            tail=work.trie.num_fed,
            alone_from=self._alone_from,
            held=kept.keys(),
        )
        with float32_logits(self._model), _packed_attention_on(self._model):
            for forward in forwards:
                inputs = lay_out(forward, work, self._device, self._dtype, kept, self._kernel)
                logits = self._forward(inputs)
                if inputs.pairs:
                    self._read(logits, inputs, work, reads)
                self._hold(forward, work, kept)
        return sum_label_words(reads, work.trie)

    def release(self) -> bool:
        held_any = self._held.num_bytes > 0
        self._held.clear()
        return held_any

    def _find_held(self, work: Workload) -> dict[int, KeyValues]:
        found = {index: self._held.get(prefix) for index, prefix in enumerate(work.prefixes)}
        return {index: key_values for index, key_values in found.items() if key_values is not None}

    def _hold(self, forward: Forward, work: Workload, kept: dict[int, KeyValues]) -> None:
        """Hold long prefixes for later calls, and free those that no later forward of this call needs."""
        for group in forward.groups:
            prefix = work.prefixes[group.prefix]
            if group.feeds_prefix and self._alone_from is not None and len(prefix) >= self._alone_from:
                self._held.put(prefix, kept[group.prefix])
            if not group.keeps_prefix:
                kept.pop(group.prefix, None)

    def _forward(self, inputs: PackedInputs) -> Tensor:
        ids = torch.from_numpy(inputs.ids).to(self._device).unsqueeze(0)  # [1, tokens]
        positions = torch.from_numpy(inputs.positions).to(self._device).unsqueeze(0)
        keep = torch.from_numpy(inputs.label_positions).to(self._device)
        outputs = self._model(
            input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=keep, packed_layout=inputs.layout
        )
        self._counters.count_forward(ids)
        if inputs.layout.num_calls == 0:
            raise PackedExecutionError("the model did not call the registered attention function")
        logits: Tensor = outputs.logits[0]
        return logits

    def _read(self, logits: Tensor, inputs: PackedInputs, work: Workload, reads: np.ndarray) -> None:
        """Write the reads of each segment's pair from `logits  # [segments * nodes, vocabulary]`."""
        nodes, tokens = np.array(work.trie.flat_reads, np.int64).T
        first_rows = np.arange(len(inputs.pairs))[:, None] * work.trie.num_nodes  # [segments, 1]
        values = read_log_probs(logits, (first_rows + nodes).ravel(), np.tile(tokens, len(inputs.pairs)))
        prefixes, queries = np.array(inputs.pairs).T
        reads[prefixes, queries] = values.reshape(len(inputs.pairs), -1)


@contextmanager
def _packed_attention_on(model: Any) -> Iterator[None]:
    """A context in which the model uses `packed_attention`; afterwards it has its own attention function again.

    Raises:
        PackedExecutionError: the architecture does not take another attention function.
    """
    if not model._supports_attention_backend:
        raise PackedExecutionError("the architecture does not look up its attention function")
    layer_types = getattr(model.config.get_text_config(), "layer_types", None) or ()
    others = {kind for kind in layer_types if kind != "full_attention"}
    if others:
        raise PackedExecutionError(f"layers of type {', '.join(sorted(others))} are not full attention")
    original = model.config._attn_implementation
    model.set_attn_implementation(ATTENTION_NAME)
    try:
        if model.config._attn_implementation != ATTENTION_NAME:  # transformers only warns, and keeps its own function
            raise PackedExecutionError("the architecture did not take the registered attention function")
        yield
    finally:
        model.set_attn_implementation(original)

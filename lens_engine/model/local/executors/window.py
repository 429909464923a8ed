"""Sliding attention: a layer sees the last tokens alone, as many as its window.

In a prompt that is no longer than the window, a token sees all tokens before it, as with full attention. So such
prompts can be packed. A workload with a longer prompt runs another way.
"""

import logging
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from lens_engine.model.labels import build_label_trie
from lens_engine.model.local.executors.base import Executor, ExecutorName, StateTap, Workload
from lens_engine.model.local.executors.layout import Layouts, PackedExecutionError
from lens_engine.model.local.executors.packing import plan
from lens_engine.types import LabelLogProbs, States

_FULL, _SLIDING = "full_attention", "sliding_attention"
_ONE_TOKEN = Workload(((),), ((0,),), build_label_trie(("",), ((0,),)))

_log = logging.getLogger(__name__)


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

"""Hidden states: outputs of decoder layers, read by hooks and pooled over the tokens of each query.

A forward ends after the last layer that is read: later layers and the head are not computed.
"""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lens_engine.local.executors.transfer import IntArray, join_ranges, upload
from lens_engine.scoring.interruption import look_up
from lens_engine.types import POOLINGS, States


class _Enough(Exception):
    """Ends a forward whose later layers nobody reads."""


@dataclass(frozen=True, slots=True)
class TokenRanges:
    """Ranges of neighbouring tokens in a forward, on the device; no range is empty."""

    tokens: Tensor  #: indices of the tokens of all ranges, one range after another
    last: Tensor  #: index of each range's last token
    lengths: Tensor

    @classmethod
    def of(cls, starts: IntArray, lengths: IntArray, device: torch.device) -> "TokenRanges":
        return cls(*upload([join_ranges(starts, lengths), starts + lengths - 1, lengths], device))

    def pool(self, hidden: Tensor) -> Tensor:
        """`[ranges, poolings, size]` float32, of `hidden  # [tokens, size]`."""
        last = hidden[self.last].float()
        if not len(last):
            return last.unsqueeze(1).expand(-1, len(POOLINGS), -1)
        mean = torch.segment_reduce(hidden[self.tokens].float(), "mean", lengths=self.lengths, unsafe=True)
        return torch.stack([last, mean], dim=1)


class StateTap:
    """Reads the outputs of a model's decoder layers, and lets a call be stopped between two layers."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._layers = _find_decoder_layers(model)
        for layer in self._layers:
            layer.register_forward_pre_hook(look_up)

    @property
    def num_layers(self) -> int:
        return len(self._layers)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self._model.parameters()).device
        return device

    @property
    def weight_bytes(self) -> int:
        return sum(weights.nbytes for weights in self._model.parameters())

    def run(self, layers: Sequence[int], ranges: TokenRanges, **inputs: Any) -> Tensor:
        """Run the model on `inputs` up to the highest layer  # [ranges, layers, poolings, size]."""
        pooled: dict[int, Tensor] = {}

        def read(number: int, _layer: nn.Module, _arguments: Any, output: Any) -> None:
            hidden: Tensor = output if isinstance(output, Tensor) else output[0]  # [rows, positions, size]
            pooled[number] = ranges.pool(hidden.flatten(0, 1))
            if number == max(layers):
                raise _Enough

        with ExitStack() as hooks, suppress(_Enough):
            for number in set(layers):
                hooks.enter_context(self._layers[number - 1].register_forward_hook(partial(read, number)))
            self._model(**inputs)
        return torch.stack([pooled[number] for number in layers], dim=1)

    def new_states(self, num_queries: int, layers: Sequence[int]) -> States:
        """Zeros for the states of each query."""
        size = self._model.config.get_text_config().hidden_size
        return np.zeros((len(layers), len(POOLINGS), num_queries, size), np.float32)


def _find_decoder_layers(model: Any) -> Sequence[nn.Module]:
    """The decoder layers in their order: the first list of as many modules as the config has layers; () if none is."""
    wanted = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == wanted]
    return list(lists[0]) if lists else ()

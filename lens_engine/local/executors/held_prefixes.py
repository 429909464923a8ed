"""Held prefixes: keys and values of long prefixes, kept between calls within a bound."""

from collections import OrderedDict
from typing import NamedTuple

from torch import Tensor

from lens_engine.scoring.tokenization import Tokens

KeyValues = dict[int, tuple[Tensor, Tensor]]
"""Keys and values of one prefix, by layer  # each [1, key-value heads, tokens, size]."""

ALL_LAYERS = 1 << 30
"""Depth of a forward that ends after the last layer."""


class _Held(NamedTuple):
    key_values: KeyValues
    depth: int  #: number of layers that were computed


class HeldPrefixes:
    """Keys and values by prefix, at most `max_bytes` (bytes); the least recently used are evicted."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[Tokens, _Held] = OrderedDict()
        self.num_bytes = 0

    def get(self, prefix: Tokens, depth: int = ALL_LAYERS) -> KeyValues | None:
        """Keys and values of at least the first `depth` layers."""
        held = self._held.get(prefix)
        if held is None or held.depth < depth:
            return None
        self._held.move_to_end(prefix)
        return held.key_values

    def put(self, prefix: Tokens, key_values: KeyValues, depth: int = ALL_LAYERS) -> None:
        """Hold a prefix's keys and values, unless those of as many layers are held or they exceed `max_bytes`."""
        size = _count_bytes(key_values)
        if self.get(prefix, depth) is not None or size > self._max_bytes:
            return
        if (shallower := self._held.pop(prefix, None)) is not None:
            self.num_bytes -= _count_bytes(shallower.key_values)
        self._held[prefix] = _Held(key_values, depth)
        self.num_bytes += size
        while self.num_bytes > self._max_bytes:
            _, oldest = self._held.popitem(last=False)
            self.num_bytes -= _count_bytes(oldest.key_values)

    def clear(self) -> None:
        self._held.clear()
        self.num_bytes = 0


def _count_bytes(key_values: KeyValues) -> int:
    return sum(tensor.numel() * tensor.element_size() for pair in key_values.values() for tensor in pair)

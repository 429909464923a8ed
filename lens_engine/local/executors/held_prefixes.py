"""Held prefixes: keys and values of long prefixes, kept between calls within a bound."""

from collections import OrderedDict

from torch import Tensor

from lens_engine.scoring.tokenization import Tokens

KeyValues = dict[int, tuple[Tensor, Tensor]]
"""Keys and values of one prefix, by layer  # each [1, key-value heads, tokens, size]."""


class HeldPrefixes:
    """Keys and values by prefix, at most `max_bytes` (bytes); the least recently used are evicted."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[Tokens, KeyValues] = OrderedDict()
        self.num_bytes = 0

    def get(self, prefix: Tokens) -> KeyValues | None:
        if prefix in self._held:
            self._held.move_to_end(prefix)
        return self._held.get(prefix)

    def put(self, prefix: Tokens, key_values: KeyValues) -> None:
        """Hold a prefix's keys and values, unless they are held already or exceed `max_bytes`."""
        size = _count_bytes(key_values)
        if prefix in self._held or size > self._max_bytes:
            return
        self._held[prefix] = key_values
        self.num_bytes += size
        while self.num_bytes > self._max_bytes:
            _, oldest = self._held.popitem(last=False)
            self.num_bytes -= _count_bytes(oldest)

    def clear(self) -> None:
        self._held.clear()
        self.num_bytes = 0


def _count_bytes(key_values: KeyValues) -> int:
    return sum(tensor.numel() * tensor.element_size() for pair in key_values.values() for tensor in pair)

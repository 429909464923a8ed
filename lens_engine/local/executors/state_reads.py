"""The hidden states that are read off right-padded rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.local.executors.base import Workload
from lens_engine.local.executors.rows import Row
from lens_engine.local.executors.states import StateTap, TokenRanges
from lens_engine.local.executors.transfer import IntArray
from lens_engine.types import States


def by_pair(states: States) -> NDArray[np.float32]:
    """A view of the states after one prefix, by pair  # [1, queries, layers, poolings, size]."""
    return states.transpose(2, 0, 1, 3)[np.newaxis]


@dataclass(frozen=True, slots=True)
class StateReads:
    """The states that are read off a batch of rows: those of each row's query."""

    tap: StateTap
    layers: Sequence[int]
    ranges: TokenRanges
    places: tuple[IntArray, ...]  #: prefix and query of each row

    @classmethod
    def of(cls, tap: StateTap, layers: Sequence[int], work: Workload, rows: Sequence[Row]) -> "StateReads":
        prefixes, queries = np.array([row.pair for row in rows], np.int64).T
        lengths = np.array([len(work.queries[query]) for query in queries], np.int64)
        longest = max(len(row.tokens) for row in rows)
        last = longest * np.arange(len(rows)) + np.array([row.label_position for row in rows], np.int64)
        return cls(tap, layers, TokenRanges.of(last + 1 - lengths, lengths, tap.device), (prefixes, queries))

    def run(self, **inputs: Any) -> Tensor:
        return self.tap.run(self.layers, self.ranges, **inputs)

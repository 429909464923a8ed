"""The layout of one packed forward: its input on the device, and what the attention function has to know."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lens_engine.local.executors.base import Workload
from lens_engine.local.executors.end_to_end import EndToEnd, lay_out_end_to_end
from lens_engine.local.executors.flat_row import FlatRow, FlatWork
from lens_engine.local.executors.held_prefixes import KeyValues
from lens_engine.local.executors.in_turn import InTurn, lay_out_in_turn
from lens_engine.local.executors.packing import Forward, Group
from lens_engine.local.executors.transfer import IntArray, upload
from lens_engine.local.executors.varlen import AttendSequences


@dataclass(slots=True)
class PackedLayout:
    """The layout of one forward, as the attention function needs it; the model passes it through."""

    way: EndToEnd | InTurn
    num_calls: int = 0  #: calls of the attention function in this forward
    windows: set[int] = field(default_factory=set)  #: windows of sliding attention that the layers named (tokens)


@dataclass(frozen=True, slots=True)
class PackedInputs:
    """The input of one forward on the device, and where to read its logits."""

    ids: Tensor  #: [tokens]
    positions: Tensor  #: [tokens], from 0 in each prompt
    label_positions: Tensor  #: [segments * trie nodes]
    reads: Tensor  #: [2, segments * reads], index into `label_positions` and token of each read
    pairs: tuple[IntArray, IntArray]  #: prefix and query of each segment
    query_ranges: tuple[IntArray, IntArray]  #: start and length of each segment's query, in `ids`
    layout: PackedLayout

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the model, but for where logits are needed."""
        return {
            "input_ids": self.ids.unsqueeze(0),  # [1, tokens]
            "position_ids": self.positions.unsqueeze(0),
            "use_cache": False,
            "packed_layout": self.layout,
        }


class Layouts:
    """Lays out the forwards of one workload. Its tokens are put into flat arrays once, for all forwards.

    Args:
        like: a tensor with the model's device and number format.
        kernel: attends to concatenated sequences; None: groups attend in turn.
    """

    def __init__(self, work: Workload, like: Tensor, kernel: AttendSequences | None) -> None:
        self._work = FlatWork.of(work)
        self._like = like.new_empty(0)
        self._kernel = kernel
        self._ancestry = self._make_ancestry() if kernel and work.trie.num_fed else None

    def lay_out(self, forward: Forward, kept: dict[int, KeyValues]) -> PackedInputs:
        """Lay out the tokens of `forward`.

        `kept` holds the keys and values of prefixes that earlier forwards fed, by prefix. This forward adds those of
        the prefixes that it keeps.
        """
        groups = sorted(forward.groups, key=self._rank)
        for group in groups:
            if group.feeds_prefix and group.keeps_prefix:
                kept[group.prefix] = {}
        row = FlatRow(self._work, groups, nodes_last=self._kernel is not None)
        numbers = [row.ids, row.positions, row.label_positions, row.reads]
        ids, positions, label_positions, reads = upload(numbers, self._like.device)
        way = (
            lay_out_in_turn(row, groups, kept, self._work.trie, self._like)
            if self._kernel is None
            else lay_out_end_to_end(row, groups, kept, self._kernel, self._ancestry, self._like.device)
        )
        ranges = row.query_starts, row.query_lengths
        return PackedInputs(ids, positions, label_positions, reads, row.pairs, ranges, PackedLayout(way))

    def _rank(self, group: Group) -> int:
        """Groups that see a prefix come first, and those without queries last."""
        if not group.queries:
            return 2
        return 0 if self._work.prefixes.lengths[group.prefix] else 1

    def _make_ancestry(self) -> Tensor:
        allowed = torch.from_numpy(np.array(self._work.trie.ancestry()))
        mask = torch.zeros(allowed.shape, dtype=self._like.dtype).masked_fill(~allowed, float("-inf"))
        return mask.to(self._like.device)[None, None]

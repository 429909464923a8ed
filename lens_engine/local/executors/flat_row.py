"""The flat row of one packed forward: token ids, positions, and the places of prefixes, queries and label nodes.

All prefixes come first, so that the tokens of the prefixes and those of the suffixes are two slices. Either all
queries follow and then the nodes of the label trie after every query; or each query is followed by its own nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from lens_engine.local.executors.base import Workload
from lens_engine.local.executors.packing import Group
from lens_engine.local.executors.ranges import ends_of, join_ranges, sum_before
from lens_engine.local.executors.transfer import IntArray
from lens_engine.scoring.labels import LabelTrie
from lens_engine.scoring.tokenization import Tokens


@dataclass(frozen=True, slots=True)
class FlatTokens:
    """Token sequences, one after another in one array."""

    tokens: IntArray
    starts: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, sequences: Sequence[Tokens]) -> "FlatTokens":
        lengths = np.array([len(tokens) for tokens in sequences], np.int64)
        tokens = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
        return cls(tokens, sum_before(lengths), lengths)

    def take(self, which: IntArray) -> IntArray:
        """The tokens of the sequences `which`, one after another."""
        return self.tokens[join_ranges(self.starts[which], self.lengths[which])]


@dataclass(frozen=True, slots=True)
class FlatWork:
    """A workload in flat arrays, made once for all its forwards."""

    prefixes: FlatTokens
    queries: FlatTokens
    trie: LabelTrie
    node_tokens: IntArray  #: of the nodes that are fed
    node_depths: IntArray
    node_of_read: IntArray  #: [reads]
    token_of_read: IntArray

    @classmethod
    def of(cls, work: Workload) -> "FlatWork":
        trie = work.trie
        nodes, tokens = np.array(trie.flat_reads, np.int64).T
        return cls(
            FlatTokens.of(work.prefixes),
            FlatTokens.of(work.queries),
            trie,
            np.array(trie.tokens[1:], np.int64),
            np.array(trie.depths[1:], np.int64),
            nodes,
            tokens,
        )


class FlatRow:
    """The row of `groups`, in their order. A segment is a query with the label nodes after it."""

    def __init__(self, work: FlatWork, groups: Sequence[Group], *, nodes_last: bool) -> None:
        self.prefix_lengths = work.prefixes.lengths[[group.prefix for group in groups]]
        self.segment_counts = np.array([len(group.queries) for group in groups], np.int64)
        fed = np.array([group.prefix for group in groups if group.feeds_prefix], np.int64)
        self.fed_lengths = work.prefixes.lengths[fed]
        #: where each group's prefix begins; it has no tokens in the row if an earlier forward fed it
        self.prefix_starts = sum_before(self.prefix_lengths * [group.feeds_prefix for group in groups])
        self.num_prefix_tokens = int(self.fed_lengths.sum())
        self.num_nodes = work.trie.num_fed  #: fed after each query

        queries = np.fromiter(chain.from_iterable(group.queries for group in groups), np.int64)
        self.query_lengths = work.queries.lengths[queries]
        self.pairs = np.repeat([group.prefix for group in groups], self.segment_counts).astype(np.int64), queries
        after_prefix = work.prefixes.lengths[self.pairs[0]]
        if nodes_last:
            self.query_starts = self.num_prefix_tokens + sum_before(self.query_lengths)
            self.nodes_start = self.num_prefix_tokens + int(self.query_lengths.sum())
            node_starts = self.nodes_start + self.num_nodes * np.arange(len(queries))
        else:
            self.query_starts = self.num_prefix_tokens + sum_before(self.query_lengths + self.num_nodes)
            node_starts = self.query_starts + self.query_lengths
        label_starts = self.query_starts + self.query_lengths - 1  # a query's last token is the trie's root
        node_places = node_starts[:, None] + np.arange(self.num_nodes)  # [segments, nodes]
        query_places = join_ranges(self.query_starts, self.query_lengths)

        size = self.num_prefix_tokens + len(query_places) + node_places.size
        self.ids = np.empty(size, np.int64)
        self.ids[: self.num_prefix_tokens] = work.prefixes.take(fed)
        self.ids[query_places] = work.queries.take(queries)
        self.ids[node_places] = work.node_tokens
        self.positions = np.empty(size, np.int64)
        self.positions[: self.num_prefix_tokens] = join_ranges(np.zeros_like(fed), self.fed_lengths)
        self.positions[query_places] = join_ranges(after_prefix, self.query_lengths)
        self.positions[node_places] = (after_prefix + self.query_lengths - 1)[:, None] + work.node_depths
        #: where logits are needed  # [segments * (1 + nodes)]
        self.label_positions = np.hstack([label_starts[:, None], node_places]).ravel()
        first_rows = np.arange(len(queries))[:, None] * (1 + self.num_nodes)
        #: row of `label_positions` and token of each read, segment by segment  # [2, segments * reads]
        self.reads = np.stack(
            [(first_rows + work.node_of_read).ravel(), np.tile(work.token_of_read, len(queries))]
        ).astype(np.int64)

    def sum_groups(self, lengths: IntArray) -> IntArray:
        """The sum of the segments' `lengths` in each group  # [groups]."""
        sums: IntArray = np.diff(ends_of(lengths)[ends_of(self.segment_counts)])
        return sums

"""A scorer that looks up blocks in a pair cache and computes the blocks that it does not find.

The unit is the block: one call with all its prefixes and queries, paired or not. A block that is found has the same
bits as a computed block, so a result never depends on the cache; see docs/decisions/0006-pair-cache-by-blocks.md.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from lens_engine.disk.cache_folder import cache_folder
from lens_engine.scoring.base import Block, LabelScorer, ParallelScorer, Prefix, ScorerIdentity, score_blocks
from lens_engine.scoring.cache.file import PairCache
from lens_engine.types import LabelLogProbs

DEFAULT_MAX_BYTES = 256 << 20
"""Default size of a pair cache (bytes): room for about 70,000 blocks of 300 pairs and two labels."""


@runtime_checkable
class SituatedScorer(LabelScorer, Protocol):
    """A scorer that also knows its surroundings: `describe_surroundings` of the process that computes."""

    @property
    def surroundings(self) -> tuple[str, ...]: ...


@runtime_checkable
class _FindingScorer(Protocol):
    """A scorer with scores on disk: a pair cache, or the answers of a server."""

    pairs_found: int


class _LookedUp(NamedTuple):
    block: Block
    key: bytes | None  #: None if the block must not be stored
    found: LabelLogProbs | None


class RememberingScorer:
    """A `LabelScorer` that wraps another, with the same identity: it stores blocks and finds them again.

    The surroundings (versions, processor, threads) decide the bits along with the scorer's identity. Blocks of a model
    whose revision is "unknown" are not stored.
    """

    def __init__(self, scorer: LabelScorer, cache: PairCache, surroundings: Sequence[str]) -> None:
        self.computing = scorer  #: the wrapped scorer; a measurement uses it
        self.pairs_found = 0  #: in the cache, since this scorer was made
        self.max_prompt_tokens = scorer.max_prompt_tokens
        self.num_workers = scorer.num_workers if isinstance(scorer, ParallelScorer) else 1
        self._cache = cache
        self._surroundings = list(surroundings)

    @property
    def identity(self) -> ScorerIdentity:
        return self.computing.identity

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self.computing.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        return self.computing.encode_label_spans(label_spans)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        (scores,) = self.score_blocks([Block(tuple(prefixes), tuple(queries))], label_spans)
        return scores

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `ParallelScorer.score_blocks`; successive blocks that are not found are computed in parallel."""
        looked_up = (self._look_up(block, label_spans) for block in blocks)
        for is_missing, stretch in groupby(looked_up, key=lambda looked: looked.found is None):
            answer = self._compute if is_missing else self._give_found
            yield from answer(stretch, label_spans)

    def _look_up(self, block: Block, label_spans: Sequence[str]) -> _LookedUp:
        key = self._make_key(block, label_spans)
        return _LookedUp(block, key, None if key is None else self._cache.find(key))

    def _give_found(self, stretch: Iterable[_LookedUp], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        for block, key, found in stretch:
            if found is None or key != self._make_key(block, label_spans):  # the token budget was halved since
                yield from self.score_blocks([block], label_spans)
            else:
                self.pairs_found += block.num_pairs
                yield found

    def _compute(self, stretch: Iterable[_LookedUp], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        taken = deque[_LookedUp]()

        def take() -> Iterator[Block]:
            for looked in stretch:
                taken.append(looked)
                yield looked.block

        for scores in score_blocks(self.computing, take(), label_spans):
            block, key, _ = taken.popleft()
            if key is not None and key == self._make_key(block, label_spans):
                self._cache.keep(key, scores)  # otherwise the token budget was halved meanwhile
            yield scores

    def _make_key(self, block: Block, label_spans: Sequence[str]) -> bytes | None:
        """SHA-256 of all that decides a block's bits. The revision identifies the model's files, and not its name."""
        identity = self.identity
        if identity.revision == "unknown":  # of a model in memory; two such models may differ
            return None
        decisive = {name: value for name, value in identity.decisive().items() if name != "model"}
        content = [decisive, self._surroundings, block.prefixes, block.queries, block.is_paired, list(label_spans)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()


def find_computing(scorer: LabelScorer) -> LabelScorer:
    """The scorer that computes: the wrapped one of a scorer with a cache, else the scorer itself."""
    return scorer.computing if isinstance(scorer, RememberingScorer) else scorer


def count_pairs_found(scorer: LabelScorer) -> int:
    """Number of pairs that the scorer found in a cache; 0 for a scorer without a cache."""
    return scorer.pairs_found if isinstance(scorer, _FindingScorer) else 0


def remember_pairs(
    scorer: SituatedScorer, max_bytes: int = DEFAULT_MAX_BYTES, cache_dir: Path | None = None
) -> RememberingScorer:
    """The scorer with a pair cache of at most `max_bytes` (bytes) in the cache folder; all processes share the file."""
    cache = PairCache(cache_folder(cache_dir) / "pairs.sqlite3", max_bytes)
    return RememberingScorer(scorer, cache, scorer.surroundings)

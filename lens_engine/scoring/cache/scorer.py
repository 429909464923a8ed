"""A scorer that looks up blocks in a pair cache and computes the blocks that it does not find.

The unit is the block: one call with all its prefixes and queries. In a 16-bit format the bits of a score
may depend on the pairs packed into the same forward, so a pair of another block may have other bits. A
block that is found has the same bits as a computed block, so a result never depends on the cache; see
docs/decisions/0006-pair-cache-by-blocks.md.
"""

import dataclasses
import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol, runtime_checkable

from lens_engine.disk.cache_folder import cache_folder
from lens_engine.scoring.base import Block, LabelScorer, ParallelScorer, Prefix, ScorerIdentity, score_blocks
from lens_engine.scoring.cache.environment import describe_surroundings
from lens_engine.scoring.cache.file import PairCache
from lens_engine.types import LabelLogProbs

DEFAULT_MAX_BYTES = 256 << 20
"""Default size of a pair cache (bytes): room for about 70,000 blocks of 300 pairs and two labels."""

_FORMAT = 1
_FILE = "pairs.sqlite3"
_UNKNOWN = "unknown"  # the revision of a model in memory; two such models may differ


@runtime_checkable
class SituatedScorer(LabelScorer, Protocol):
    """A scorer that also knows its surroundings, which decide its bits along with its identity."""

    @property
    def surroundings(self) -> tuple[str, ...]:
        """The result of `describe_surroundings` for the device and the process that compute."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class _LookedUp:
    block: Block
    identity: ScorerIdentity  #: of the scorer, before it computes the block
    key: bytes
    found: LabelLogProbs | None


class RememberingScorer:
    """A `LabelScorer` that wraps another, with the same identity: it stores blocks and finds them again.

    Blocks of a model whose revision is "unknown" are not stored.

    Args:
        scorer: computes the blocks that are not found.
        cache: stores the blocks.
        surroundings: versions, processor, threads: they decide the bits along with the scorer's identity.
    """

    def __init__(self, scorer: LabelScorer, cache: PairCache, surroundings: Sequence[str]) -> None:
        self._scorer = scorer
        self._cache = cache
        self._surroundings = list(surroundings)
        self._pairs_found = 0

    @property
    def computing(self) -> LabelScorer:
        """The wrapped scorer, which computes; a measurement uses it."""
        return self._scorer

    @property
    def pairs_found(self) -> int:
        """Number of pairs found in the cache since this scorer was made."""
        return self._pairs_found

    @property
    def identity(self) -> ScorerIdentity:
        return self._scorer.identity

    @property
    def max_prompt_tokens(self) -> int:
        return self._scorer.max_prompt_tokens

    @property
    def num_workers(self) -> int:
        return self._scorer.num_workers if isinstance(self._scorer, ParallelScorer) else 1

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._scorer.count_tokens(segments)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """As `LabelScorer.score`."""
        (scores,) = self.score_blocks([Block(tuple(prefixes), tuple(queries))], label_spans)
        return scores

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `ParallelScorer.score_blocks`; successive blocks that are not found are computed in parallel."""
        looked_up = (self._look_up(block, label_spans) for block in blocks)
        for is_missing, stretch in groupby(looked_up, key=lambda looked: looked.found is None):
            if is_missing:
                yield from self._compute(stretch, label_spans)
            else:
                yield from self._give_found(stretch, label_spans)

    def _look_up(self, block: Block, label_spans: Sequence[str]) -> _LookedUp:
        identity = self.identity
        if identity.revision == _UNKNOWN:
            return _LookedUp(block, identity, b"", None)
        key = _make_key(block, label_spans, identity, self._surroundings)
        found = self._cache.find(key)
        shape = (len(block.prefixes), len(block.queries), len(label_spans))
        return _LookedUp(block, identity, key, found if found is not None and found.shape == shape else None)

    def _give_found(self, stretch: Iterable[_LookedUp], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """Yield the scores of blocks that were found.

        A block was perhaps looked up while workers still computed. If they halved their token budget since, the block
        is looked up again.
        """
        for early in stretch:
            looked = early if early.identity == self.identity else self._look_up(early.block, label_spans)
            if looked.found is None:
                yield from self._compute([looked], label_spans)
            else:
                self._pairs_found += len(looked.block.prefixes) * len(looked.block.queries)
                yield looked.found

    def _compute(self, stretch: Iterable[_LookedUp], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        taken = deque[_LookedUp]()

        def take() -> Iterator[Block]:
            for looked in stretch:
                taken.append(looked)
                yield looked.block

        for scores in score_blocks(self._scorer, take(), label_spans):
            self._keep(taken.popleft(), scores)
            yield scores

    def _keep(self, looked: _LookedUp, scores: LabelLogProbs) -> None:
        """Store a block, unless the token budget was halved during it: its parts may have had different budgets."""
        if looked.key and looked.identity == self.identity:
            self._cache.keep(looked.key, scores)


def find_computing(scorer: LabelScorer) -> LabelScorer:
    """The scorer that computes: the wrapped one of a scorer with a cache, else the scorer itself."""
    return scorer.computing if isinstance(scorer, RememberingScorer) else scorer


def count_pairs_found(scorer: LabelScorer) -> int:
    """Number of pairs that the scorer found in a cache; 0 for a scorer without a cache."""
    return scorer.pairs_found if isinstance(scorer, RememberingScorer) else 0


def remember_pairs(
    scorer: LabelScorer, max_bytes: int = DEFAULT_MAX_BYTES, cache_dir: Path | None = None
) -> RememberingScorer:
    """The scorer with a pair cache of at most `max_bytes` (bytes) in the cache folder; all processes share the file.

    Raises:
        ValueError: `max_bytes` is too small; see `PairCache`.
    """
    cache = PairCache(cache_folder(cache_dir) / _FILE, max_bytes)
    if isinstance(scorer, SituatedScorer):
        return RememberingScorer(scorer, cache, scorer.surroundings)
    return RememberingScorer(scorer, cache, describe_surroundings(scorer.identity.device))


def _make_key(block: Block, label_spans: Sequence[str], identity: ScorerIdentity, surroundings: list[str]) -> bytes:
    """SHA-256 of all that decides a block's bits. The model's name is left out: its revision identifies the files."""
    decisive = {name: value for name, value in identity.decisive().items() if name != "model"}
    content = [_FORMAT, decisive, surroundings, block.prefixes, block.queries, list(label_spans)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()

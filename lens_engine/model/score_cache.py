"""A scorer that looks up blocks in a pair cache and computes the blocks that it does not find.

The unit is the block: one call with all its prefixes and queries, paired or not. A block that is found has the same
bits as a computed block, so a result never depends on the cache; see docs/decisions/0006-pair-cache-by-blocks.md.
"""

import hashlib
import json
import logging
import sqlite3
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lens_engine.disk import cache_folder
from lens_engine.model.base import Block, BlockScorer, LabelScorer, Prefix, ScorerIdentity
from lens_engine.types import LabelLogProbs, States

_PAGE_BYTES = 4096
_LARGEST_SHARE = 8  # a block larger than max_bytes / 8 is not stored: it would push out too many others
_PATIENCE_SECONDS = 2.0
_SETUP = (
    f"PRAGMA page_size = {_PAGE_BYTES}",
    "PRAGMA synchronous = OFF",  # a killed process harms nothing; a crash of the machine may, and is noticed
    "CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)",
)
_WRITE = "INSERT OR REPLACE INTO blocks (key, value) VALUES (?, ?)"
_DELETE_OLDEST = "DELETE FROM blocks WHERE number <= (SELECT (15 * min(number) + max(number)) / 16 FROM blocks)"

_SHAPE = struct.Struct("<3I")
_DIGEST_BYTES = 16
_KEYS_AT_A_TIME = 500  # SQLite takes some 30,000 values in a statement, and older ones 999
_FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)  # UnicodeDecodeError: SQLite's message quotes damaged bytes
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # ERROR: another table schema

_log = logging.getLogger(__name__)


class PairCache:
    """Blocks by key, in one SQLite file; the oldest blocks give way to new ones.

    Each call opens the file and closes it again. So threads and forks may share a cache, and processes may share the
    file, which must be on a local disk.

    Args:
        path: the file; the file and its folder are made if they do not exist.
        max_bytes: size (bytes) beyond which the file does not grow. A file that is larger already keeps its size.
        patience_seconds: longest wait for another process or thread that is writing. After it, a block is neither found
            nor kept.
    """

    def __init__(self, path: Path, max_bytes: int, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._patience_seconds = patience_seconds
        self._is_usable = True

    def find(self, key: bytes) -> LabelLogProbs | None:
        """The block stored under `key`, bit for bit; None if there is none or it is damaged."""
        return self.find_all([key]).get(key)

    def find_all(self, keys: Sequence[bytes]) -> dict[bytes, LabelLogProbs]:
        """As `find`, for many keys; those without a block are left out."""

        def read(connection: sqlite3.Connection) -> list[list[tuple[bytes, Any]]]:
            return [
                connection.execute(
                    f"SELECT key, value FROM blocks WHERE key IN ({','.join('?' * len(part))})", part
                ).fetchall()
                for part in (keys[start : start + _KEYS_AT_A_TIME] for start in range(0, len(keys), _KEYS_AT_A_TIME))
            ]

        rows = [row for part in self._attempt(read) or [] for row in part]
        found = ((key, _decode(key, value)) for key, value in rows)
        return {key: block for key, block in found if block is not None}

    def keep(self, key: bytes, block: LabelLogProbs) -> None:
        """Store a block `[P, Q, L]` atomically. A block with NaN or an infinity is not stored."""
        self.keep_all({key: block})

    def keep_all(self, blocks: Mapping[bytes, LabelLogProbs]) -> None:
        """As `keep`, for many blocks at once."""
        values = {key: _encode(key, block) for key, block in blocks.items() if np.isfinite(block).all()}
        fitting = {key: value for key, value in values.items() if len(value) * _LARGEST_SHARE <= self._max_bytes}
        if fitting:
            self._attempt(lambda connection: _write(connection, fitting))

    def _attempt(self, operation: Callable[[sqlite3.Connection], Any]) -> Any:
        """The outcome of `operation`; None if it failed. After a failure, the file is not used in this run."""
        if not self._is_usable:
            return None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            patience = self._patience_seconds
            with closing(sqlite3.connect(self._path, timeout=patience, isolation_level=None)) as connection:
                connection.text_factory = bytes  # otherwise a value that damage turned into text would raise
                for statement in (*_SETUP, f"PRAGMA max_page_count = {self._max_bytes // _PAGE_BYTES}"):
                    connection.execute(statement).fetchall()
                return operation(connection)
        except _FAILURES as error:
            if _code(error) == sqlite3.SQLITE_BUSY:  # another process is writing; a later call may succeed
                return None
            self._is_usable = False
            _log.warning("the pair cache %s is not used in this run: %s", self._path, error)
            if isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGED:
                with suppress(OSError):  # the next run makes a new file
                    self._path.unlink(missing_ok=True)
                    self._path.with_name(self._path.name + "-journal").unlink(missing_ok=True)
            return None


def _write(connection: sqlite3.Connection, values: Mapping[bytes, bytes]) -> None:
    try:
        _write_together(connection, values)
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_FULL:
            raise
        connection.execute(_DELETE_OLDEST)
        _write_together(connection, values)


def _write_together(connection: sqlite3.Connection, values: Mapping[bytes, bytes]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_WRITE, values.items())


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 if the error is not SQLite's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _encode(key: bytes, block: LabelLogProbs) -> bytes:
    body = _SHAPE.pack(*block.shape) + block.astype("<f4").tobytes()
    return _digest(key, body) + body


def _decode(key: bytes, value: object) -> LabelLogProbs | None:
    """The block in `value`; None if the value is incomplete, changed, or belongs to another key."""
    if not isinstance(value, bytes) or value[:_DIGEST_BYTES] != _digest(key, body := value[_DIGEST_BYTES:]):
        return None
    shape = _SHAPE.unpack_from(body)
    return np.frombuffer(body, "<f4", offset=_SHAPE.size).reshape(shape).astype(np.float32)


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES, key=key).digest()


DEFAULT_MAX_BYTES = 256 << 20
"""Default size of a pair cache (bytes): room for about 70,000 blocks of 300 pairs and two labels."""


class _LookedUp(NamedTuple):
    block: Block
    key: bytes | None  #: None if the block must not be stored
    found: LabelLogProbs | None


class RememberingScorer(BlockScorer):
    """A scorer that wraps another, with the same identity: it stores blocks and finds them again.

    The surroundings (versions, processor, threads) decide the bits along with the scorer's identity. Blocks of a model
    whose revision is "unknown" are not stored.
    """

    def __init__(self, scorer: LabelScorer, cache: PairCache, surroundings: Sequence[str]) -> None:
        self._scorer, self._cache = scorer, cache
        self.max_prompt_tokens, self.num_workers = scorer.max_prompt_tokens, scorer.num_workers
        self.num_layers, self.surroundings = scorer.num_layers, tuple(surroundings)

    @property
    def identity(self) -> ScorerIdentity:
        return self._scorer.identity

    @property
    def computing(self) -> LabelScorer:
        return self._scorer

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._scorer.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        return self._scorer.encode_label_spans(label_spans)

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        return self._scorer.states(prefix, queries, layers)

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `LabelScorer.score_blocks`; successive blocks that are not found are computed in parallel."""
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

        for scores in self._scorer.score_blocks(take(), label_spans):
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
        content = [decisive, list(self.surroundings), block.prefixes, block.queries, block.is_paired, list(label_spans)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()


def remember_pairs(
    scorer: LabelScorer, max_bytes: int = DEFAULT_MAX_BYTES, cache_dir: Path | None = None
) -> RememberingScorer:
    """The scorer with a pair cache of at most `max_bytes` (bytes) in the cache folder; all processes share the file."""
    cache = PairCache(cache_folder(cache_dir) / "pairs.sqlite3", max_bytes)
    return RememberingScorer(scorer, cache, scorer.surroundings)

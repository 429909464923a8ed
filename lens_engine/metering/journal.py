"""The journal: the scores since the last checkpoint, so that a step that was cut off need not score them again.

A step of a run (a filtering round, the first beam, an iteration, a step of the comparison) may score for hours. The
journal keeps the scores of each chunk by the digest of its texts, and has them saved from time to time along with the
state before the step. A resumed run does the step again from its beginning. As it asks for the same chunks in the same
order, the journal answers those that were scored, bit for bit, and their cost is counted again with the step.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lens_engine.scoring.base import Block
from lens_engine.types import LabelLogProbs

SECONDS = 30.0
"""Time between two savings of the journal."""

MOST_BYTES = 16 << 20
"""Largest size of the scores. Of a step with more, the first ones are kept; a checkpoint is written anew each time."""

_DIGEST_BYTES = 32
_SCORES, _SHAPES, _KEYS, _FOUND = "journal_scores", "journal_shapes", "journal_keys", "journal_found"


class Entry(NamedTuple):
    """The scores of a chunk `[rows, columns, labels]`, and whether they were found in a pair cache."""

    scores: LabelLogProbs
    is_found: bool


class Journal:
    """The scores of the chunks of one step.

    Args:
        save: called when it is time to save the journal; None if nobody saves it, and then nothing is kept.
        packed: the journal of an earlier attempt, as `pack` made it.
    """

    def __init__(
        self,
        save: Callable[[], None] | None = None,
        packed: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self._save = save
        self._entries: dict[bytes, Entry] = {}
        self._earlier = _unpack(packed or {})
        self._bytes = sum(entry.scores.nbytes for entry in self._earlier.values())
        self._saved_at = time.monotonic()

    def replay(self, block: Block, label_spans: Sequence[str]) -> Entry | None:
        """What an earlier attempt scored for this block and these label spans, once; None if it did not."""
        if not self._earlier:
            return None
        key = _digest(block, label_spans)
        entry = self._earlier.pop(key, None)
        if entry is not None:
            self._entries[key] = entry
        return entry

    def keep(self, block: Block, label_spans: Sequence[str], scores: LabelLogProbs, *, is_found: bool) -> None:
        """Keep the scores of a block, and save the journal if it is time."""
        if self._save is None or self._bytes + scores.nbytes > MOST_BYTES:
            return
        self._entries[_digest(block, label_spans)] = Entry(scores, is_found)
        self._bytes += scores.nbytes
        if time.monotonic() - self._saved_at >= SECONDS:
            self._save()
            self._saved_at = time.monotonic()

    def clear(self) -> None:
        """Begin a new step, whose state was just saved."""
        self._entries, self._earlier, self._bytes = {}, {}, 0
        self._saved_at = time.monotonic()

    def pack(self) -> dict[str, NDArray[Any]]:
        """The journal as arrays of a checkpoint; empty for an empty journal."""
        entries = {**self._earlier, **self._entries}
        if not entries:
            return {}
        return {
            _SCORES: np.concatenate([entry.scores.ravel() for entry in entries.values()]),
            _SHAPES: np.array([entry.scores.shape for entry in entries.values()]),
            _KEYS: np.frombuffer(b"".join(entries), dtype=np.uint8),
            _FOUND: np.array([entry.is_found for entry in entries.values()]),
        }


def _unpack(arrays: Mapping[str, NDArray[Any]]) -> dict[bytes, Entry]:
    if _KEYS not in arrays:
        return {}
    keys, shapes = arrays[_KEYS].tobytes(), arrays[_SHAPES]
    scores = np.split(arrays[_SCORES], np.cumsum(shapes.prod(axis=1))[:-1])
    return {
        keys[place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES]: Entry(flat.reshape(shape), bool(is_found))
        for place, (flat, shape, is_found) in enumerate(zip(scores, shapes, arrays[_FOUND], strict=True))
    }


def _digest(block: Block, label_spans: Sequence[str]) -> bytes:
    content = [block.prefixes, block.queries, block.is_paired, list(label_spans)]
    return hashlib.sha256(json.dumps(content).encode()).digest()

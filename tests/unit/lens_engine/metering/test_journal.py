from types import SimpleNamespace

import numpy as np
import pytest

from lens_engine.metering import journal
from lens_engine.scoring.base import Block
from lens_engine.types import LabelLogProbs

SPANS = (" no", " yes")
TEXTS = (((), ("one",)), ("a", "b"))
"""Prefixes and queries."""


def make_scores(*shape: int) -> LabelLogProbs:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_journal_is_saved_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now, saved_at = [0], list[int]()
    monkeypatch.setattr(journal, "time", SimpleNamespace(monotonic=lambda: now[0]))
    kept = journal.Journal(lambda: saved_at.append(now[0]))

    for now[0] in range(0, 100, 10):
        block = Block(((),), (f"query {now[0]}",))
        kept.keep(block, SPANS, np.zeros((1, 1, 2), dtype=np.float32), is_found=False)

    assert saved_at == [30, 60, 90]


@pytest.mark.parametrize("is_paired", [False, True])
def test_block_is_replayed_to_the_bit_and_to_no_other_question(is_paired: bool) -> None:
    asked = Block(*TEXTS, is_paired=is_paired)
    scores = make_scores(*asked.shape, 2)
    first = journal.Journal(lambda: None)
    first.keep(asked, SPANS, scores, is_found=True)

    resumed = journal.Journal(packed=first.pack())

    assert resumed.replay(Block(*TEXTS, is_paired=not is_paired), SPANS) is None
    assert resumed.replay(asked, SPANS[::-1]) is None
    assert resumed.replay(asked, (" no.", " yes.")) is None
    entry = resumed.replay(asked, SPANS)
    assert entry is not None
    assert (entry.scores.tobytes(), entry.is_found) == (scores.tobytes(), True)

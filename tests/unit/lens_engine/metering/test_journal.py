from types import SimpleNamespace

import numpy as np
import pytest

from lens_engine.metering import journal
from lens_engine.scoring.base import Block


def test_journal_is_saved_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now, saved_at = [0], list[int]()
    monkeypatch.setattr(journal, "time", SimpleNamespace(monotonic=lambda: now[0]))
    kept = journal.Journal(lambda: saved_at.append(now[0]))

    for now[0] in range(0, 100, 10):
        kept.keep(Block(((),), (f"query {now[0]}",)), np.zeros((1, 1, 2), dtype=np.float32), is_found=False)

    assert saved_at == [30, 60, 90]

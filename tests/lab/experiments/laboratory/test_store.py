from collections.abc import Callable
from pathlib import Path

import pytest

from lab.experiments.laboratory.cells import Bench, SelectionCell
from lab.experiments.laboratory.store import CellDamaged, CellStore
from lens_engine.config import SelectionConfig


@pytest.fixture
def cell(bench: Bench, make_tiny: Callable[..., SelectionConfig]) -> SelectionCell:
    return bench.selection(make_tiny())


def test_outcome_comes_back_from_another_store_over_the_same_folder(tmp_path: Path, cell: SelectionCell) -> None:
    CellStore(tmp_path).save("key", cell, {"accuracy": 0.1, "name": "crème"})
    assert CellStore(tmp_path).load("key") == {"accuracy": 0.1, "name": "crème"}


def test_checkpoint_of_a_finished_cell_is_removed(tmp_path: Path, cell: SelectionCell) -> None:
    store = CellStore(tmp_path)
    store.checkpoint("key").write_bytes(b"state")
    store.save("key", cell, {})
    assert not store.checkpoint("key").exists()


def test_checkpoint_that_was_left_beside_a_finished_cell_is_removed(tmp_path: Path, cell: SelectionCell) -> None:
    store = CellStore(tmp_path)
    store.save("key", cell, {})
    store.checkpoint("key").write_bytes(b"left by a process that was killed")

    assert store.load("key") == {}
    assert not store.checkpoint("key").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"outcome"', b"\xff"])
def test_damaged_cell_is_an_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    store = CellStore(tmp_path)
    store.path("key").write_bytes(content)
    with pytest.raises(CellDamaged, match=r"key\.json is damaged; remove it"):
        store.load("key")

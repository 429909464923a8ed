from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.laboratory.cells import Bench, SelectionCell
from experiments.laboratory.store import CellDamaged, CellStore
from lens_engine.config import SelectionConfig
from lens_engine.disk.replace_file import replace_file


@pytest.fixture
def cell(bench: Bench, make_tiny: Callable[..., SelectionConfig]) -> SelectionCell:
    return bench.selection(make_tiny())


def test_outcome_comes_back_from_another_store_over_the_same_folder(tmp_path: Path, cell: SelectionCell) -> None:
    CellStore(tmp_path).save("key", cell, {"accuracy": 0.1, "name": "crème"})
    assert CellStore(tmp_path).load("key") == {"accuracy": 0.1, "name": "crème"}


def test_unknown_key_has_no_outcome(tmp_path: Path) -> None:
    assert CellStore(tmp_path).load("key") is None


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


def test_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    with pytest.raises(TypeError):
        replace_file(path, "text is not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]

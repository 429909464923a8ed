import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.errors import CheckpointDamaged, CheckpointForeign
from lens_engine.run.state import Checkpoint, FileCheckpointStore, MemoryCheckpointStore
from lens_engine.types import Phase

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def make_checkpoint(step: int = 3) -> Checkpoint:
    arrays = {"survivors": np.arange(5), "contributions": np.linspace(0, 1, 10).reshape(5, 2)}
    return Checkpoint("print", Phase.SEARCH, step, "float32", {"spent": [1, 2, 0.5]}, arrays)


DATA = make_checkpoint().to_bytes()


@settings(deadline=None)
@given(values=st.dictionaries(st.text(max_size=6), JSON, max_size=4), phase=st.sampled_from(Phase))
def test_values_come_back_as_they_were(values: dict[str, object], phase: Phase) -> None:
    checkpoint = Checkpoint("f" * 64, phase, 7, "bfloat16", values)

    assert Checkpoint.from_bytes(checkpoint.to_bytes()) == checkpoint


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4),
        np.empty((3, 0)),
        np.array([[1.5, -0.0]]),
        np.array([True]),
        np.array([1 / 3], dtype=np.float32),
        np.array([2**62]),
    ],
)
def test_arrays_come_back_bit_by_bit(array: np.ndarray) -> None:
    found = Checkpoint.from_bytes(Checkpoint("f", Phase.FILTER, 1, "float32", {}, {"found": array}).to_bytes())

    assert found.arrays["found"].dtype == array.dtype
    assert found.arrays["found"].shape == array.shape
    assert found.arrays["found"].tobytes() == array.tobytes()


@settings(deadline=None)
@given(place=st.integers(0, len(DATA) - 1), flip=st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, flip: int) -> None:
    damaged = bytearray(DATA)
    damaged[place] ^= flip

    with pytest.raises(CheckpointDamaged, match="start the run afresh"):
        Checkpoint.from_bytes(bytes(damaged))


@given(length=st.integers(0, len(DATA) - 1))
def test_any_torn_end_is_noticed(length: int) -> None:
    with pytest.raises(CheckpointDamaged):
        Checkpoint.from_bytes(DATA[:length])


@pytest.mark.parametrize(
    "change",
    [{"phase": "unheard of"}, {"dtype": None}, {"device": None}],
    ids=["unknown phase", "no dtype", "no device"],
)
def test_intact_bytes_of_an_unknown_form_are_foreign(change: dict[str, object]) -> None:
    header = {"fingerprint": "print", "phase": "search", "step": 1, "dtype": "float32", "device": "cpu", "values": {}}
    kept = {name: value for name, value in (header | change).items() if value is not None}

    with pytest.raises(CheckpointForeign, match="a form that Lens cannot read"):
        Checkpoint.from_bytes(sealed(kept))


def sealed(header: object) -> bytes:
    """An intact archive with this header, of a form that may be unknown."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    return hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue()


def test_memory_keeps_the_newest() -> None:
    store = MemoryCheckpointStore()
    assert store.load() is None

    store.save(make_checkpoint(1))
    store.save(make_checkpoint(2))

    found = store.load()
    assert found is not None
    assert found.step == 2


def test_file_keeps_the_newest_and_nothing_else(tmp_path: Path) -> None:
    store = FileCheckpointStore(tmp_path / "run.ckpt")
    assert store.load() is None

    store.save(make_checkpoint(1))
    store.save(make_checkpoint(2))

    found = FileCheckpointStore(tmp_path / "run.ckpt").load()
    assert found is not None
    assert found.step == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_torn_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    FileCheckpointStore(path).save(make_checkpoint(1))
    unwritable = Checkpoint("f", Phase.SEARCH, 2, "float32", {"odd": object()})

    with pytest.raises(TypeError):
        FileCheckpointStore(path).save(unwritable)

    found = FileCheckpointStore(path).load()
    assert found is not None
    assert found.step == 1

"""The store of the pair cache, with real files: what it keeps, how large it gets, what damage does to it."""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.model.score_cache import PairCache
from lens_engine.types import LabelLogProbs

Make = Callable[..., Any]

ROOT = Path(__file__).parents[5]
PAGE_BYTES = 4096
SMALL = 40 * PAGE_BYTES
WRITER = """
import sys
from pathlib import Path
import numpy as np
from lens_engine.model.score_cache import PairCache

path, max_bytes, first, count = Path(sys.argv[1]), *map(int, sys.argv[2:])
cache = PairCache(path, max_bytes)
print("open", flush=True)
for number in range(first, first + count):
    cache.keep(b"%032d" % number, np.full((20, 10, 2), number, np.float32))
"""


def key_of(number: int) -> bytes:
    return b"%032d" % number


def block_of(number: int, queries: int = 10) -> LabelLogProbs:
    return np.full((20, queries, 2), number, np.float32)


def write_in_another_process(path: Path, max_bytes: int, first: int, count: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(path), str(max_bytes), str(first), str(count)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fill(cache: PairCache, numbers: range) -> None:
    for number in numbers:
        cache.keep(key_of(number), block_of(number))


def numbers_in(cache: PairCache, numbers: range) -> list[int]:
    """Those that are found, and are what was kept."""
    found = [(number, cache.find(key_of(number))) for number in numbers]
    assert all(np.array_equal(block, block_of(number)) for number, block in found if block is not None)
    return [number for number, block in found if block is not None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "pairs.sqlite3"


@pytest.fixture
def make_cache(path: Path) -> Make:
    return lambda max_bytes=1 << 20: PairCache(path, max_bytes)


def query(path: Path, statement: str, *values: bytes) -> list[tuple[object, ...]]:
    """Run a statement on the file, from beside the cache."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement, values).fetchall()


def test_block_comes_back_bit_for_bit(make_cache: Make) -> None:
    block = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)
    block[0, 0] = [-0.0, np.finfo(np.float32).smallest_subnormal]

    make_cache().keep(key_of(1), block)

    found = make_cache().find(key_of(1))
    assert found is not None
    assert (found.dtype, found.shape, found.tobytes()) == (block.dtype, block.shape, block.tobytes())
    assert make_cache().find(key_of(2)) is None


def test_newer_block_replaces_the_older(make_cache: Make) -> None:
    cache = make_cache()
    cache.keep(key_of(1), block_of(5))
    cache.keep(key_of(1), block_of(1))
    assert numbers_in(cache, range(9)) == [1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_block_that_is_not_finite_is_not_kept(bad: float, make_cache: Make) -> None:
    cache, block = make_cache(), block_of(1)
    block[7, 3, 1] = bad
    cache.keep(key_of(1), block)
    assert cache.find(key_of(1)) is None


@pytest.mark.parametrize("queries", [1, 10, 30])
def test_file_stays_within_its_bound_and_keeps_the_newest(queries: int, make_cache: Make, path: Path) -> None:
    cache, numbers = make_cache(SMALL), range(400)
    sizes = []
    for number in numbers:
        cache.keep(key_of(number), block_of(number, queries))
        sizes.append(path.stat().st_size)

    left = [number for number in numbers if cache.find(key_of(number)) is not None]
    assert max(sizes) <= SMALL
    assert left == list(range(left[0], 400))
    assert len(left) * block_of(0, queries).nbytes > SMALL / 3


def test_block_too_large_for_the_bound_is_not_kept(make_cache: Make) -> None:
    cache = make_cache(SMALL)
    cache.keep(key_of(1), block_of(1))
    cache.keep(key_of(2), np.zeros((100, 100, 2), np.float32))
    assert cache.find(key_of(2)) is None
    assert cache.find(key_of(1)) is not None


def test_two_processes_make_and_fill_one_file(path: Path, make_cache: Make) -> None:
    writers = [write_in_another_process(path, 4 << 20, first, 150) for first in (0, 1000)]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert (writer.returncode, errors) == (0, "")

    cache = make_cache(4 << 20)
    assert numbers_in(cache, range(150)) == list(range(150))
    assert numbers_in(cache, range(1000, 1150)) == list(range(1000, 1150))


def test_killed_writer_leaves_whole_blocks_only(path: Path, make_cache: Make) -> None:
    for start in range(0, 3000, 1000):
        writer = write_in_another_process(path, 64 << 20, start, 1_000_000)
        assert writer.stdout is not None
        writer.stdout.readline()
        watching = make_cache(64 << 20)
        while watching.find(key_of(start + 3)) is None:
            assert writer.poll() is None
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=60)

    cache = make_cache(64 << 20)
    for start in range(0, 3000, 1000):
        written = numbers_in(cache, range(start, start + 1000))
        assert written[:4] == list(range(start, start + 4))
        assert written == list(range(start, start + len(written)))
    cache.keep(key_of(10**6), block_of(10**6))
    assert cache.find(key_of(10**6)) is not None
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def another_table(path: Path) -> None:
    path.unlink()
    query(path, "CREATE TABLE blocks (other TEXT)")


@pytest.mark.parametrize(
    "damage", [lambda it: it.write_bytes(b"no database" * 1000), lambda it: os.truncate(it, 100), another_table]
)
def test_file_that_is_no_cache_costs_one_warning_and_is_made_anew_in_the_next_run(
    damage: Callable[[Path], None], make_cache: Make, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_cache().keep(key_of(1), block_of(1))
    damage(path)

    cache = make_cache()
    fill(cache, range(2, 4))
    assert numbers_in(cache, range(5)) == []

    cache = make_cache()
    cache.keep(key_of(2), block_of(2))
    assert numbers_in(cache, range(5)) == [2]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert str(path) in record.getMessage()


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_truncated_file_gives_no_wrong_block_and_is_replaced(
    kept: float, make_cache: Make, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(make_cache(), range(100))
    os.truncate(path, int(path.stat().st_size * kept) // PAGE_BYTES * PAGE_BYTES)

    cache = make_cache()
    numbers_in(cache, range(100))
    fill(cache, range(100, 200))
    numbers_in(cache, range(200))

    assert len(caplog.records) == 1
    after = make_cache()
    after.keep(key_of(1), block_of(1))
    assert 1 in numbers_in(after, range(200))


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_never_give_a_wrong_number(
    seed: int, make_cache: Make, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(make_cache(), range(60))
    rng = np.random.default_rng(seed)
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    data[rng.integers(0, len(data), 200)] ^= rng.integers(1, 256, 200).astype(np.uint8)
    path.write_bytes(data.tobytes())

    cache = make_cache()
    assert len(numbers_in(cache, range(60))) < 60
    fill(cache, range(60, 90))
    numbers_in(cache, range(90))
    assert len(caplog.records) <= 1


def test_block_of_another_key_is_not_given_out(make_cache: Make, path: Path) -> None:
    cache = make_cache()
    fill(cache, range(1, 3))
    query(path, "UPDATE blocks SET value = (SELECT value FROM blocks WHERE key = ?)", key_of(1))

    assert numbers_in(cache, range(5)) == [1]


@pytest.mark.parametrize("place", ["file/pairs.sqlite3", "folder"])
def test_place_that_holds_no_file_costs_a_warning(place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()

    cache = PairCache(tmp_path / place, 1 << 20)
    cache.keep(key_of(1), block_of(1))

    assert cache.find(key_of(1)) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "is not used" in caplog.text


def test_full_disk_costs_a_warning_and_no_block(make_cache: Make, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = make_cache()
    fill(cache, range(1))
    query(path, "CREATE TRIGGER full BEFORE INSERT ON blocks BEGIN SELECT RAISE(FAIL, 'planted'); END")

    fill(cache, range(1, 4))

    assert "is not used in this run" in caplog.text
    assert len(caplog.records) == 1
    assert numbers_in(make_cache(), range(4)) == [0]


def test_file_locked_for_long_costs_neither_run_nor_cache(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = PairCache(path, 1 << 20, patience_seconds=0.02)
    cache.keep(key_of(1), block_of(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        cache.keep(key_of(2), block_of(2))
        assert numbers_in(cache, range(5)) == [1]
    cache.keep(key_of(3), block_of(3))

    assert numbers_in(cache, range(5)) == [1, 3]
    assert caplog.records == []

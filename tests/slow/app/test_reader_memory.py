"""The reader keeps no memory of work that is done, and imports nothing in vain."""

import importlib
import platform
import subprocess
import sys
from importlib.util import find_spec

import pytest

from app.selections.reader import Reader
from app.settings import Settings

_FILL_AND_GIVE_BACK = """
from app.selections.reader import give_back_memory

def resident():
    return next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmRSS"))

before = resident()
texts = [bytes(2_000) for _ in range(50_000)]
last = bytes(2_000)
texts.clear()
give_back_memory()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no call for it")
def test_memory_below_a_block_in_use_is_given_back() -> None:
    shown = subprocess.run([sys.executable, "-c", _FILL_AND_GIVE_BACK], capture_output=True, check=True, text=True)
    assert int(shown.stdout) < 20


_FIT = """
from app.lean_imports import leave_pandas_out
leave_pandas_out()
import sys
import numpy as np
from lens_engine.classifier.bag_of_words import estimate_accuracy
from lens_engine.classifier.quality import measure_macro_f1
from lens_engine.rows.near_texts import count_near
from lens_engine.types import Example
gold = np.arange(20) % 2
texts = [("good film", "bad play")[label] for label in gold]
assert estimate_accuracy(texts, gold, 2).accuracy == measure_macro_f1(gold, gold) == 1.0
rows = [Example(row, text, str(row)) for row, text in enumerate(dict.fromkeys(texts))]
count_near(rows, rows)
print([name for name in ("pandas", "pyarrow") if name in sys.modules])
"""

needs_pandas = pytest.mark.skipif(find_spec("pandas") is None, reason="without pandas nothing imports it")

_BEGIN_CHILD = """
import os, sys
from rq.worker import HerokuWorker
from worker.process import JobWorker

class Waiting(JobWorker):
    pid = os.getppid()

    def __init__(self):
        pass

HerokuWorker.main_work_horse = lambda self, job, queue: None
Waiting().main_work_horse(None, None)
import sklearn.linear_model
print([name for name in ("pandas", "pyarrow") if name in sys.modules])
"""


def list_heavy(*_: object) -> list[str]:
    """Work of the reader."""
    importlib.import_module("sklearn.linear_model")
    return [name for name in ("pandas", "pyarrow") if name in sys.modules]


@needs_pandas
def test_reader_imports_no_pandas() -> None:
    reader = Reader(
        Settings(database_url="postgresql+psycopg://nobody@127.0.0.1:1/no", redis_url="redis://127.0.0.1:1")
    )
    try:
        assert reader.run(list_heavy) == []
    finally:
        reader.close()


@needs_pandas
def test_child_of_a_worker_imports_no_pandas() -> None:
    shown = subprocess.run([sys.executable, "-c", _BEGIN_CHILD], capture_output=True, check=True, text=True)
    assert shown.stdout.strip() == "[]"


@needs_pandas
def test_scikit_learn_works_without_the_pandas_that_is_installed() -> None:
    shown = subprocess.run([sys.executable, "-c", _FIT], capture_output=True, check=True, text=True)
    assert shown.stdout.strip() == "[]"

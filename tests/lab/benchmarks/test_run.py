"""A comparison of engines leaves what it has when it is ended early."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.report.records import ComparisonRecord, Machine, count_processors
from benchmarks.run import write_as_it_grows

MACHINE = Machine(processor="a processor", accelerator=None, threads=2, load=0.25, packages={})


def make_record(seconds: float) -> ComparisonRecord:
    return ComparisonRecord(
        machine=MACHINE,
        model="a model",
        device="cpu",
        dtype="float32",
        seconds_per_repetition=seconds,
        matmul_flops={},
        workloads=(),
    )


def test_last_record_is_the_one_kept(tmp_path: Path) -> None:
    output = tmp_path / "results/cpu.json"

    found = write_as_it_grows([make_record(1.0), make_record(2.0)], output)

    assert found == make_record(2.0)
    assert ComparisonRecord.model_validate_json(output.read_text()) == found
    assert list(output.parent.iterdir()) == [output]


def test_an_end_before_the_last_workload_loses_neither_what_is_new_nor_what_was_there(tmp_path: Path) -> None:
    def measure() -> Iterator[ComparisonRecord]:
        yield make_record(2.0)
        raise KeyboardInterrupt

    output = tmp_path / "cpu.json"
    write_as_it_grows([make_record(1.0)], output)

    with pytest.raises(KeyboardInterrupt):
        write_as_it_grows(measure(), output)

    assert ComparisonRecord.model_validate_json(output.read_text()) == make_record(1.0)
    assert ComparisonRecord.model_validate_json((tmp_path / "cpu.partial.json").read_text()) == make_record(2.0)


def test_nothing_measured_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        write_as_it_grows([], tmp_path / "cpu.json")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes to processors")
def test_processors_are_those_this_process_may_use() -> None:
    one = min(os.sched_getaffinity(0))
    pin = f"import os; os.sched_setaffinity(0, [{one}])"
    count = "from benchmarks.report.records import count_processors; print(count_processors())"

    counted = subprocess.run([sys.executable, "-c", f"{pin}; {count}"], capture_output=True, check=True)

    assert counted.stdout.split() == [b"1"]
    assert count_processors() == len(os.sched_getaffinity(0))

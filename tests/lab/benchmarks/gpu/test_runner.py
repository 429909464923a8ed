"""A step that fails, dies or hangs costs its own time and nothing else."""

import json
import multiprocessing
import os
import time

import gpu_steps
import pytest

from benchmarks.gpu.runner import Setting, Step, StepRecord, run_steps

SPAWN = multiprocessing.get_context("spawn")
SETTING = Setting(device="cpu", is_rehearsal=True)


@pytest.fixture(scope="module")
def records() -> dict[str, StepRecord]:
    runs = (gpu_steps.fail, gpu_steps.die, gpu_steps.hang, gpu_steps.succeed)
    steps = [Step(run.__name__, run, seconds=0.0 if run is gpu_steps.hang else 5.0) for run in runs]
    # The hanging step has what the steps before it left.
    found = run_steps(steps, SETTING, limit=15.0, context=SPAWN)
    return {record.step: record for record in found}


def test_failure_is_written_down_with_what_was_found_before(records: dict[str, StepRecord]) -> None:
    failed = records["fail"]

    assert (failed.outcome, failed.findings) == ("failed", ({"before": 1},))
    assert failed.error is not None
    assert "the card fell out" in failed.error


def test_death_of_the_process_is_a_failure(records: dict[str, StepRecord]) -> None:
    assert (records["die"].outcome, records["die"].findings) == ("failed", ({"before": 1},))


def test_hanging_step_is_ended_at_its_deadline_with_its_processes(records: dict[str, StepRecord]) -> None:
    hung = records["hang"]

    assert hung.outcome == "out of time"
    assert hung.seconds < 20
    (finding,) = hung.findings
    deadline = time.monotonic() + 10
    while _is_running(finding["sleeper"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(finding["sleeper"])


def test_later_steps_run_all_the_same_each_in_its_own_process(records: dict[str, StepRecord]) -> None:
    succeeded = records["succeed"]

    assert succeeded.outcome == "done"
    assert succeeded.findings[0] == {"device": "cpu", "delta": "inf"}
    assert succeeded.findings[1]["process"] != os.getpid()


def test_record_is_one_line_of_json() -> None:
    line = StepRecord("kernel", "done", 1.0, ({"delta": float("nan")},)).to_json()

    assert "\n" not in line
    assert json.loads(line)["findings"] == [{"delta": "nan"}]


def test_step_without_time_is_out_of_time() -> None:
    (record,) = run_steps([Step("succeed", gpu_steps.succeed, 1.0)], SETTING, 0.0, SPAWN)

    assert record.outcome == "out of time"


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

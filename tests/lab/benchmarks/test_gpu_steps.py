"""`make gpu`: what is missing, a machine without a device, and every step as on a device, on the processor."""

import json
import sys
from pathlib import Path

import pytest
import torch

from lab.benchmarks.gpu import __main__ as command
from lab.benchmarks.gpu import steps
from lab.benchmarks.gpu.steps import RUNS
from lab.benchmarks.needs import list_missing


@pytest.mark.parametrize(
    ("python", "version", "expected"),
    [
        ((3, 12, 3), "2.11.0+cu130", []),
        ((3, 12, 3), "2.9.1", ["torch 2.10 or newer; this is 2.9.1"]),
        ((3, 12, 3), None, ["torch 2.10 or newer"]),
        ((3, 10, 1), "2.10.1", ["Python 3.11 or newer; this is 3.10.1"]),
    ],
)
def test_what_is_missing_or_old_is_listed(python: tuple[int, ...], version: str | None, expected: list[str]) -> None:
    assert list_missing(python, {"torch": (2, 10)}, lambda _: version) == expected


def test_this_environment_lacks_nothing() -> None:
    assert list_missing(sys.version_info[:3]) == []


def test_missing_packages_end_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "list_missing", lambda _: ["pydantic 2.11 or newer"])

    assert command.main([]) == 2
    assert "  pydantic 2.11 or newer\n" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_machine_without_a_device_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 3

    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_rehearsal_writes_a_line_for_each_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "gpu.jsonl"

    assert command.main(["--rehearse", "--steps", "machine", "selection", "--output", str(output)]) == 0

    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(record["step"], record["outcome"]) for record in records] == [("machine", "right"), ("selection", "right")]
    assert all(record["findings"] for record in records)
    assert capsys.readouterr().out == output.read_text()


@pytest.mark.parametrize("name", [name for name in command.STEPS if name not in ("machine", "selection")])
def test_step_is_right_on_a_processor(name: str) -> None:
    findings = list(RUNS[name](True))

    assert findings
    assert [finding["faults"] for finding in findings if finding.get("faults")] == []
    json.dumps(findings)


def test_executor_that_differs_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(steps.LARGEST_DELTAS, torch.float32, -1.0)

    assert any(finding["faults"] for finding in RUNS["exactness"](True) if "faults" in finding)


@pytest.mark.parametrize(
    ("code", "seconds", "outcome", "findings"),
    [
        ("print('{\"a\": 1}')", 30.0, "right", [{"a": 1}]),
        ('print(\'{"faults": ["off"]}\')', 30.0, "wrong", [{"faults": ["off"]}]),
        ("print('{\"a\": 1}', flush=True); raise RuntimeError('fell out')", 30.0, "failed", [{"a": 1}]),
        ("import os; os._exit(9)", 30.0, "failed", []),
        ("import time; print('{\"a\": 1}', flush=True); time.sleep(60)", 3.0, "out of time", [{"a": 1}]),
    ],
)
def test_failed_step_keeps_findings(code: str, seconds: float, outcome: str, findings: list[dict[str, object]]) -> None:
    record = command.run_step("any", [sys.executable, "-c", code], seconds)

    assert (record["outcome"], record["findings"]) == (outcome, findings)
    assert ("fell out" in record.get("error", "")) == ("fell out" in code)
    assert record["seconds"] < 20

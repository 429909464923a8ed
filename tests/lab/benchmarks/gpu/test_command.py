"""The command tells what is missing, leaves a machine without a card alone, and writes a line for each step."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import __main__ as command
from benchmarks.gpu.runner import StepRecord
from benchmarks.gpu.summary import judge_steps, show_targets


def test_missing_packages_end_the_command_with_a_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "list_missing", lambda _: (["pydantic 2.11 or newer"], []))

    assert command.main([]) == 2

    said = capsys.readouterr().err
    assert "  pydantic 2.11 or newer\n" in said
    assert "pip download" in said


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a card")
def test_machine_without_a_card_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 3

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_rehearsal_writes_a_line_for_each_step_and_ends_with_the_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "gpu.jsonl"

    assert command.main(["--rehearse", "--steps", "closing", "kernel", "--output", str(output)]) == 0

    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(record["step"], record["outcome"]) for record in records] == [
        ("start", "done"),
        ("kernel", "done"),
        ("closing", "done"),
    ]
    printed = capsys.readouterr().out
    assert printed.startswith(output.read_text())
    assert "| attention kernel without a fault (1 for yes) | ≥ 1 | 1 | met |" in printed


def test_unknown_step_is_refused_with_the_names_of_all(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no step kernels; the steps are machine, kernel"):
        command.main(["--rehearse", "--steps", "kernels", "--output", str(tmp_path / "gpu.jsonl")])


def test_targets_of_steps_that_failed_are_not_measured() -> None:
    assert {verdict.outcome for verdict in judge_steps([])} == {"not measured"}


def test_broken_steps_stand_under_the_table() -> None:
    record = StepRecord("profile", "failed", 2.0, (), "Traceback\n  a line\nRuntimeError: the card fell out\n")

    assert show_targets([record]).endswith("profile: failed; RuntimeError: the card fell out\n")


def test_fault_of_the_kernel_in_use_misses_the_target() -> None:
    finding = {"kernel": "in use", "faults": ["one token: two runs differ"]}

    verdict = next(iter(judge_steps([StepRecord("kernel", "done", 1.0, (finding,))])))

    assert (verdict.measured, verdict.is_met) == (0.0, False)

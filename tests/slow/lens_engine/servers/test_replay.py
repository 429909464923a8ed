"""A run that is killed in the middle: the next one replays its answers, and pays for none again."""

import subprocess
import sys
import time
from pathlib import Path

from tests.endpoints.double import Double
from tests.endpoints.select_once import select_once

_UNDER_WAY = 2 * 16
"""Prompts whose answers a killed process cannot have kept: of two requests. It keeps an answer before it asks again."""


def test_killed_run_pays_for_no_answer_twice(double: Double, tmp_path: Path) -> None:
    whole = select_once(double.url, tmp_path / "whole")
    of_whole = double.prompts[:]
    double.prompts.clear()
    double.seconds = 0.02
    command = [sys.executable, "-m", "tests.endpoints.select_once", double.url, str(tmp_path / "cut")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        while len(double.prompts) < len(of_whole) / 2:
            assert run.poll() is None
            time.sleep(0.005)
        run.kill()
    time.sleep(0.1)
    before = double.prompts[:]
    double.prompts.clear()
    assert select_once(double.url, tmp_path / "cut") == whole
    checks = of_whole[: _num_checks(of_whole)]
    again = [prompt for prompt in double.prompts if prompt in set(before) and prompt not in set(checks)]
    assert len(again) <= _UNDER_WAY
    assert len(before) + len(double.prompts) <= len(of_whole) + len(checks) + _UNDER_WAY


def _num_checks(prompts: list[tuple[int, ...]]) -> int:
    """Number of prompts of the checks at connection, which come first and have a text of their own."""
    return sum(b"Question:" in bytes(prompt[1:]) for prompt in prompts)

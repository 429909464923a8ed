"""The command `lens` in this process, and options of a selection that takes a second."""

import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from lens_cli.application import main

_OPTIONS = {
    "num_demonstrations": 2,
    "rows.search": 32,
    "rows.judging": 24,
    "search.validation": 8,
    "search.sets": 4,
    "search.forms": "fixed",
    "filtering.candidates": 16,
    "filtering.keep": 8,
    "filtering.initial_score_size": 4,
    "filtering.max_score_size": 8,
    "search.beam_width": 2,
    "search.first_permutations": 6,
    "search.children": 4,
    "search.iterations": 2,
}

SMALL = [part for name, value in _OPTIONS.items() for part in ("--option", f"{name}={value}")]


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    status, out, err = 0, StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["lens", *words])
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())

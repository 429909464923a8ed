"""Check a CUDA device: `make gpu`, or `python3 -m lab.benchmarks.gpu`.

Exit codes: 0 every step is right; 1 a step failed, ran out of time or found a fault; 2 packages are missing;
3 there is no device.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lab.benchmarks.needs import list_missing

STEPS = ("machine", "exactness", "selection", "memory")
LIMIT_SECONDS = 480.0
_STEP_FAILED, _NEEDS_MISSING, _NO_DEVICE = 1, 2, 3
_WHEELS = """Where there is no package index, bring wheels along: on another machine
`python3 -m pip download --only-binary=:all: --no-deps -d wheels NAME`, here
`python3 -m pip install --no-index --no-deps --target site wheels/*.whl` and PYTHONPATH=site.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    missing = list_missing(sys.version_info[:3])
    if missing:
        sys.stderr.write("Missing on this machine:\n" + "".join(f"  {line}\n" for line in missing) + _WHEELS)
        return _NEEDS_MISSING
    import torch

    if not options.rehearse and not torch.cuda.is_available():
        sys.stderr.write("torch sees no CUDA device here. To try the steps on a processor: --rehearse\n")
        return _NO_DEVICE
    if options.only is not None:
        return _run(options.only, options.rehearse)
    ends, outcomes = time.monotonic() + options.seconds, []
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", encoding="utf-8") as file:
        for name in options.steps:
            command = [sys.executable, "-m", "lab.benchmarks.gpu", "--only", name, *["--rehearse"] * options.rehearse]
            record = run_step(name, command, max(ends - time.monotonic(), 0.0))
            outcomes.append(record["outcome"])
            for stream in (file, sys.stdout):
                stream.write(json.dumps(record) + "\n")
                stream.flush()
    return 0 if set(outcomes) <= {"right"} else _STEP_FAILED


def run_step(name: str, command: Sequence[str], seconds: float) -> dict[str, Any]:
    """Run the command of a step, which prints a JSON line for each finding, and end it after `seconds`.

    Returns:
        step, outcome ("right", "wrong", "failed" or "out of time"), seconds, findings, and the last lines of stderr of
        a step that failed. A step is wrong if a finding has faults.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    is_late = False
    try:
        output, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        is_late = True
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what the step has started
        output, error = process.communicate()
    findings = []
    for line in output.splitlines():
        with suppress(ValueError):  # a line that the process was killed in
            findings.append(json.loads(line))
    outcome = "out of time" if is_late else "failed" if process.returncode else "right"
    if outcome == "right" and any(finding.get("faults") for finding in findings):
        outcome = "wrong"
    record = {"step": name, "outcome": outcome, "seconds": round(time.monotonic() - started, 1), "findings": findings}
    return record if outcome != "failed" else record | {"error": "\n".join(error.splitlines()[-6:])}


def _run(name: str, rehearses: bool) -> int:
    """The life of a step's process."""
    from lab.benchmarks.gpu.steps import RUNS

    for finding in RUNS[name](rehearses):
        sys.stdout.write(json.dumps(finding, default=str) + "\n")
        sys.stdout.flush()
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m lab.benchmarks.gpu", description="Check a CUDA device.")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS, help="default: all")
    parser.add_argument("--seconds", type=float, default=LIMIT_SECONDS, help="for all steps (default: %(default)s)")
    parser.add_argument("--rehearse", action="store_true", help="every step on the processor, at tiny size")
    parser.add_argument("--output", type=Path, default=Path("build/gpu.jsonl"), help="default: %(default)s")
    parser.add_argument("--only", choices=STEPS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

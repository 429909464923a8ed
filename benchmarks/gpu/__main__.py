"""Measure and check everything on a CUDA card: `make gpu`, or `python3 -m benchmarks.gpu`.

Exit codes: 0 every step ran; 1 a step failed or ran out of time; 2 packages are missing; 3 there is no card.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gpu.needs import list_missing
from benchmarks.gpu.runner import SHAPE, Setting, Step, StepRecord, choose_context, run_steps

LIMIT_SECONDS = 480.0
_STEP_FAILED, _NEEDS_MISSING, _NO_CARD = 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    began = time.monotonic()
    options = _parse(arguments)
    required, for_a_part = list_missing(sys.version_info[:3])
    if required:
        sys.stderr.write(_describe_missing(required))
        return _NEEDS_MISSING
    if not options.rehearse and not _has_card():
        sys.stderr.write("torch sees no CUDA card here. To try the steps on a processor: --rehearse\n")
        return _NO_CARD
    for line in for_a_part:
        sys.stderr.write(f"missing: {line}\n")
    return _run(options, began + options.seconds)


def _run(options: argparse.Namespace, ends: float) -> int:
    from benchmarks.gpu.plan import STEPS, rehearse
    from benchmarks.gpu.summary import show_targets

    known = [step.name for step in STEPS]
    if unknown := set(options.steps or known) - set(known):
        raise SystemExit(f"there is no step {', '.join(sorted(unknown))}; the steps are {', '.join(known)}")
    chosen = [step for step in STEPS if options.steps is None or step.name in options.steps]
    records = []
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, options.output.open("w", encoding="utf-8") as file:
        setting = Setting(options.device, options.model, options.tokenizer)
        setting = rehearse(setting, Path(folder)) if options.rehearse else setting
        for record in _run_all(chosen, setting, ends):
            records.append(record)
            for stream in (file, sys.stdout):
                stream.write(record.to_json() + "\n")
                stream.flush()
    sys.stdout.write(show_targets(records))
    return 0 if all(record.outcome == "done" for record in records) else _STEP_FAILED


def _run_all(steps: Sequence[Step], setting: Setting, ends: float) -> Iterator[StepRecord]:
    """The first step, which tells how processes can be started, then the others."""
    from benchmarks.gpu.plan import START

    context, record = choose_context(START, setting)
    yield record
    yield from run_steps(steps, setting, ends - time.monotonic(), context)


def _has_card() -> bool:
    import torch

    return torch.cuda.is_available()


def _describe_missing(required: Sequence[str]) -> str:
    lines = "".join(f"  {line}\n" for line in required)
    wheels = "python3 -m pip download --only-binary=:all: --no-deps -d wheels NAME"
    install = "python3 -m pip install --no-index --no-deps --target site wheels/*.whl"
    return (
        f"Missing on this machine:\n{lines}"
        f"Where there is no package index, bring wheels along: on another machine `{wheels}`,\n"
        f"here `{install}` and PYTHONPATH=site.\n"
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description="Check and measure a CUDA card.")
    parser.add_argument("--device", default="cuda", help="torch device (default: %(default)s)")
    parser.add_argument("--model", default=SHAPE, help="model reference, or random:SHAPE (default: %(default)s)")
    parser.add_argument("--tokenizer", type=Path, help="folder with the tokenizer of a random:SHAPE model")
    parser.add_argument("--steps", nargs="+", help="names of steps (default: all)")
    parser.add_argument(
        "--seconds", type=float, default=LIMIT_SECONDS, help="seconds for all steps (default: %(default)s)"
    )
    parser.add_argument("--rehearse", action="store_true", help="every step on the processor, at tiny size")
    parser.add_argument("--output", type=Path, default=Path("build/gpu.jsonl"), help="default: %(default)s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

"""Compare engines: `python -m lab.benchmarks.run`. Writes JSON; `lab.benchmarks.report.tables` turns it into tables.

python -m lab.benchmarks.run                                             # SmolLM2-135M on this machine's processor
python -m lab.benchmarks.run --quick                                     # two workloads in minutes, printed
python -m lab.benchmarks.run --device cuda --model random:gpt2-large     # random weights suffice for speed
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from lab.benchmarks.bench import Bench, Effort
from lab.benchmarks.engines.harness import LARGEST_BATCH
from lab.benchmarks.measuring.seconds import matmul_rate
from lab.benchmarks.report.records import ComparisonRecord, WorkloadRun, describe_machine
from lab.benchmarks.report.tables import RESULTS, show_comparison
from lab.benchmarks.workloads.models import RANDOM, add_model_options, find_model, read_dtype
from lab.benchmarks.workloads.work import FALLBACK_WORKLOAD, WORKLOADS, WorkloadSpec, build_work

FALLBACK_MODEL = f"{RANDOM}gpt-neo-125m"
_QUICK = ("W1-14", "W2")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_options(arguments)
    for record in compare(options):
        record.write(options.output)  # after each workload, so that a kill loses one
    sys.stdout.write(show_comparison(record))
    return 0


def compare(options: argparse.Namespace) -> Iterator[ComparisonRecord]:
    """The record so far: after each workload."""
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    dtype = read_dtype(options.dtype, device)
    record = ComparisonRecord(
        machine=describe_machine(device),  # reads the load of the machine before anything is measured
        model=options.model,
        device=device.type,
        dtype=_name(dtype),
        seconds_per_repetition=options.seconds,
        matmul_flops={_name(kind): matmul_rate(kind, device) for kind in (torch.float32, dtype)},
        workloads=(),
    )
    checked_queries, largest_batch = (1, 16) if options.quick else (3, LARGEST_BATCH)
    effort = Effort(options.seconds, options.repetitions, checked_queries, largest_batch)
    for model, specs in ((options.model, WORKLOADS), (FALLBACK_MODEL, (FALLBACK_WORKLOAD,))):
        chosen = [spec for spec in specs if spec.key in options.workloads]
        for run in _run_workloads(model, chosen, device, dtype, effort):
            record = record.model_copy(update={"workloads": (*record.workloads, run)})
            yield record


def _run_workloads(
    model: str, specs: Sequence[WorkloadSpec], device: torch.device, dtype: torch.dtype, effort: Effort
) -> Iterator[WorkloadRun]:
    """Each workload on one model, which is loaded if there is a workload, and freed when this ends."""
    if specs:
        bench = Bench(find_model(model, device), dtype, effort, _say)
        yield from (bench.run(spec, build_work(spec)) for spec in specs)


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    keys = tuple(spec.key for spec in (*WORKLOADS, FALLBACK_WORKLOAD))
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.run", description="Compare scoring engines.")
    add_model_options(parser)
    parser.add_argument("--workloads", nargs="*", choices=keys, help="workloads to run (default: all)")
    parser.add_argument(
        "--seconds", type=float, help="seconds of a repetition, about (default: 6, or 0.6 with --quick)"
    )
    parser.add_argument("--repetitions", type=int, help="number of repetitions (default: 5, or 3 with --quick)")
    parser.add_argument("--quick", action="store_true", help="two workloads, short repetitions")
    parser.add_argument(
        "--output", type=Path, help="JSON file (default: benchmarks/results/DEVICE.json; in part: build/)"
    )
    options = parser.parse_args(arguments)
    is_partial = options.quick or options.workloads is not None
    options.workloads = options.workloads or (_QUICK if options.quick else keys)
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.6 if options.quick else 6.0)
    name = "quick" if options.quick else options.device.partition(":")[0]
    options.output = options.output or (Path("build") if is_partial else RESULTS) / f"{name}.json"
    return options


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())

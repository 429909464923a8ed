"""Time one whole search at the paper's settings: `python -m benchmarks.studies.search`.

python -m benchmarks.studies.search --candidates 512                          # on this machine's processor
python -m benchmarks.studies.search --candidates 6920 --device cuda --model random:gpt2-large
"""

import argparse
import gc
import hashlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.report.page import RESULTS
from benchmarks.report.records import SearchRecord, SearchRun, describe_machine
from benchmarks.report.tables import show_search
from benchmarks.workloads.models import add_model_options, find_model, read_dtype
from benchmarks.workloads.texts import corpus_task, generate_examples, read_examples
from lens_engine.config import SelectionConfig
from lens_engine.language_model.loading.load import CausalLMScorer, scorer_from_model
from lens_engine.metering.progress import Progress, SilentListener
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import resolve_config
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import MemoryCheckpointStore
from lens_engine.task.paper_tasks import PAPER_TASKS
from lens_engine.types import Phase

PAPER_CANDIDATES, PAPER_KEEP = 6920, 500
_OTHER_ROWS = 1000
"""Rows for score set and validation."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_options(arguments)
    record = time_search(options)
    record.write(options.output)
    sys.stdout.write(show_search(record))
    return 0


def time_search(options: argparse.Namespace) -> SearchRecord:
    """Load the model and run one search, with the options of the command."""
    device = torch.device(options.device)
    torch.set_num_threads(options.threads)
    machine = describe_machine(device)  # before the search, which would add to the load
    dtype = read_dtype(options.dtype, device)
    loaded = find_model(options.model, device, options.tokenizer).load(dtype)
    scorer = scorer_from_model(loaded.model, loaded.tokenizer, name=options.model)
    problem = _problem(options.candidates, options.data)
    config = paper_settings(options.candidates, options.iterations)
    return SearchRecord(
        machine=machine,
        model=options.model,
        device=device.type,
        dtype=loaded.dtype,
        candidates=options.candidates,
        config=config.model_dump(mode="json"),
        run=_search(problem, scorer, config),
    )


def paper_settings(candidates: int, iterations: int = 10) -> SelectionConfig:
    """The paper's options for SST-2: n 8, l 14, rho 2, B 8, ten iterations, 100 validation rows.

    m is the same share of N as in the paper. The evaluation is reduced to four test rows.
    """
    task = PAPER_TASKS["sst-2"]
    return resolve_config(
        "paper",
        {
            "num_demonstrations": task.num_demonstrations,
            "splits": {"test": 4},
            "filtering": {
                "candidates": candidates,
                "keep": max(round(candidates * PAPER_KEEP / PAPER_CANDIDATES), 2 * task.num_demonstrations),
                "rho": task.rho,
                "initial_score_size": task.initial_score_size,
            },
            "search": {"iterations": iterations},
            "comparisons": "none",
        },
    )


class PhaseClock(SilentListener):
    """Notes the seconds until stage 1 ends."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.filter_seconds: float | None = None

    def on_progress(self, progress: Progress) -> None:
        if progress.phase is not Phase.FILTER and self.filter_seconds is None:
            self.filter_seconds = time.perf_counter() - self._started


def _search(problem: Problem, scorer: CausalLMScorer, config: SelectionConfig) -> SearchRun:
    gc.collect()
    scorer.release()
    checkpoints, clock = MemoryCheckpointStore(), PhaseClock()
    wall, cpu = time.perf_counter(), time.process_time()
    result = select_support_examples(problem, scorer, config, listener=clock, checkpoints=checkpoints)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    checkpoint = checkpoints.load()
    survivors = checkpoint.arrays["survivors"].tolist() if checkpoint else []
    return SearchRun(
        wall=wall,
        cpu=cpu,
        filter_seconds=clock.filter_seconds or 0.0,
        pairs=result.cost.pairs,
        tokens=result.cost.tokens,
        survivors_digest=hashlib.sha256(repr(survivors).encode()).hexdigest(),
        permutation=result.rows,
    )


def _problem(candidates: int, data: Path | None) -> Problem:
    task = corpus_task("reviews")
    count = candidates + _OTHER_ROWS
    test = generate_examples("reviews", 8, seed=1)
    examples = generate_examples("reviews", count) if data is None else read_examples(data, task)
    return Problem(task, examples, test)


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.search", description="Time one whole search.")
    add_model_options(parser)
    parser.add_argument("--candidates", type=int, default=512, help="N, number of candidates (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=10, help="iterations of the search (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="JSON file (default: benchmarks/results/search-DEVICE.json)")
    options = parser.parse_args(arguments)
    options.output = options.output or RESULTS / f"search-{options.device.partition(':')[0]}.json"
    return options


if __name__ == "__main__":
    sys.exit(main())

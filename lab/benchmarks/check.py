"""Fails if packed is slower than cached, or cached slower than plain: `python -m lab.benchmarks.check`, in `make check`.

The work has the shape of stage 2: one permutation of eight demonstrations and many queries. The model
has some layers of SmolLM2-135M with random weights, so nothing is downloaded. The executors take turns,
and the best CPU time of each is compared. A failure counts only if it repeats.
"""

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import torch

from lab.benchmarks.engines.lens import EXECUTORS
from lab.benchmarks.workloads.models import random_model, random_shape, read_dtype
from lab.benchmarks.workloads.tokenizer import train_tokenizer
from lab.benchmarks.workloads.work import WORKLOADS, build_work
from lens_engine.local.executors import ExecutorName
from lens_engine.local.load import scorer_from_model
from lens_engine.local.scorer import CausalLMScorer

_LAYERS, _VOCABULARY, _QUERIES = 4, 8192, 32
_ATTEMPTS, _REPETITIONS = 3, 4


def main() -> int:
    torch.set_num_threads(1)
    runs = make_runs()
    for attempt in range(1, _ATTEMPTS + 1):
        seconds = {name: run() for name, run in runs.items()}
        for _ in range(_REPETITIONS - 1):
            seconds = {name: min(seconds[name], run()) for name, run in runs.items()}
        slower = find_slower(seconds)
        sys.stdout.write(f"executors, CPU seconds: {', '.join(f'{n} {s:.3f}' for n, s in seconds.items())}\n")
        if not slower:
            return 0
        sys.stdout.write(f"attempt {attempt} of {_ATTEMPTS}: {slower}\n")
    sys.stdout.write(
        'The executors are not in their order of speed, so "auto" no longer takes the fastest. '
        "See where the time goes: python -m lab.benchmarks.run --workloads W2\n"
    )
    return 1


def make_runs() -> Mapping[ExecutorName, Callable[[], float]]:
    """For each executor, a function that scores the work once and returns its CPU seconds."""
    tokenizer = train_tokenizer()
    shape = random_shape("smollm2-135m", num_hidden_layers=_LAYERS, vocab_size=_VOCABULARY)
    model = random_model(shape, read_dtype("auto", torch.device("cpu")))
    work = build_work(WORKLOADS[2]).part(1, _QUERIES)
    scorers = {name: scorer_from_model(model, tokenizer, executor=name) for name in EXECUTORS}

    def seconds(scorer: CausalLMScorer) -> float:
        scorer.release()  # so that the prefix is fed each time
        start = time.process_time()
        scorer.score(work.prefixes, work.queries, work.label_spans)
        return time.process_time() - start

    return {name: partial(seconds, scorer) for name, scorer in scorers.items()}


def find_slower(seconds: Mapping[ExecutorName, float]) -> str | None:
    """A sentence on the executors that are out of order; None if there are none."""
    for fast, slow in pairwise(EXECUTORS):
        if seconds[fast] > seconds[slow]:
            return f"{fast} took {seconds[fast]:.3f} s, more than {slow} with {seconds[slow]:.3f} s"
    return None


if __name__ == "__main__":
    sys.exit(main())

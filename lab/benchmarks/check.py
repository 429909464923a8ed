"""Fails if packed is slower than cached, or cached slower than plain: `python -m lab.benchmarks.check`.

The work has the shape of stage 2: one permutation of eight demonstrations and many queries. The model has some layers
of SmolLM2-135M with random weights, so nothing is downloaded. The executors take turns, and the best CPU time of each
is compared. A failure counts only if it repeats.
"""

import sys
import time
from collections.abc import Mapping
from itertools import pairwise

import torch

from lab.benchmarks.engines import EXECUTORS
from lab.benchmarks.models import random_model, random_shape, read_dtype, train_tokenizer
from lab.benchmarks.workloads import WORKLOADS, build_work
from lens_engine.local.executors import ExecutorName
from lens_engine.local.load import scorer_from_model

_LAYERS, _VOCABULARY, _QUERIES = 4, 8192, 32
_ATTEMPTS, _REPETITIONS = 3, 4


def main() -> int:
    torch.set_num_threads(1)
    shape = random_shape("smollm2-135m", num_hidden_layers=_LAYERS, vocab_size=_VOCABULARY)
    model, tokenizer = random_model(shape, read_dtype("auto", torch.device("cpu"))), train_tokenizer()
    scorers = {name: scorer_from_model(model, tokenizer, executor=name) for name in EXECUTORS}
    work = build_work(WORKLOADS[2]).part(1, _QUERIES)
    for attempt in range(1, _ATTEMPTS + 1):
        seconds = dict.fromkeys(scorers, float("inf"))
        for _ in range(_REPETITIONS):
            for name, scorer in scorers.items():
                scorer.release()  # so that the prefix is fed each time
                start = time.process_time()
                scorer.score(work.prefixes, work.queries, work.label_spans)
                seconds[name] = min(seconds[name], time.process_time() - start)
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


def find_slower(seconds: Mapping[ExecutorName, float]) -> str | None:
    """A sentence on the executors that are out of order; None if there are none."""
    for fast, slow in pairwise(EXECUTORS):
        if seconds[fast] > seconds[slow]:
            return f"{fast} took {seconds[fast]:.3f} s, more than {slow} with {seconds[slow]:.3f} s"
    return None


if __name__ == "__main__":
    sys.exit(main())

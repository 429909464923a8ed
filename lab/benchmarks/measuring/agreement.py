"""Do engines give the same numbers, and executors the same selection?"""

import numpy as np

from lab.benchmarks.workloads.texts import corpus_task, generate_examples
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import overlay_options, resolve_config
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import MemoryCheckpointStore
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import LabelLogProbs

_CANDIDATES = 48
_SMALL = {
    "num_demonstrations": 4,
    "splits": {"validation": 16, "confirmation": 0, "test": 8},
    "filtering": {"candidates": _CANDIDATES, "keep": 12, "rounds": 2, "initial_score_size": 4, "max_score_size": 8},
    "search": {"beam_width": 2, "children": 3, "iterations": 2},
    "comparisons": "none",
}


def largest_delta(label_log_probs: LabelLogProbs, expected: LabelLogProbs) -> float:
    """max |Δ log p|; infinite if anything is not finite."""
    delta = np.abs(label_log_probs - expected)
    return float(delta.max()) if np.isfinite(delta).all() else float("inf")


def select_among_few(scorer: LabelScorer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Run one small selection; returns the rows of the survivors of stage 1, and of the permutation chosen."""
    config = resolve_config("quick", overlay_options({"classifier": {"kind": "none"}}, _SMALL))
    checkpoints = MemoryCheckpointStore()
    problem = Problem(corpus_task("reviews"), generate_examples("reviews", 160))
    result = select_support_examples(problem, scorer, config, checkpoints=checkpoints, progress=False)
    checkpoint = checkpoints.load()
    survivors = checkpoint.arrays["survivors"] if checkpoint else np.zeros(0)
    return tuple(survivors.tolist()), result.answer.contenders[0].rows

"""The self-check at loading: compares an executor with the plain executor on random tokens.

Packing gives wrong numbers without an error on some architectures: those with windows by index, biases by
distance, or a state passed from token to token. So every loaded model is checked, whatever its architecture.
"""

import numpy as np
import torch

from lens_engine.scoring.executors import Executor, Workload
from lens_engine.scoring.labels import build_label_trie
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import LabelLogProbs

# One pack is 260 tokens: longer than the local window of the released GPT-Neo models (256), whose scores
# packing changes. Long queries after short prefixes give the plain executor the fewest tokens.
_PREFIX_LENGTHS = (32, 0, 32)  # two prefixes of equal length, which the cached executor batches
_QUERY_LENGTHS = (9, 70, 32)
_PROMPT_TOKENS = 32 + 70 + 2
_ONE_FORWARD, _SEVERAL_FORWARDS = 4096, 64
_ONE_PROMPT = 1

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.1}
"""Largest |Δ log p| that counts as rounding (nats), by number format; a wrong mask gives more than 1."""


def make_check_workload(vocabulary_size: int, max_prompt_tokens: int) -> Workload:
    """Three prefixes (one empty) with three queries each, and label words of one and of two tokens."""
    shrink = min(1.0, max_prompt_tokens / _PROMPT_TOKENS)
    generator = np.random.default_rng(0)

    def draw(length: int) -> Tokens:
        return tuple(generator.integers(0, vocabulary_size, size=int(length * shrink)).tolist())

    first, second, third = generator.choice(vocabulary_size, size=3, replace=False).tolist()
    trie = build_label_trie(("short", "long"), ((first,), (second, third)))
    return Workload(tuple(draw(n) for n in _PREFIX_LENGTHS), tuple(draw(max(n, 7)) for n in _QUERY_LENGTHS), trie)


def run_check(executor: Executor, work: Workload) -> LabelLogProbs:
    """Run the workload in one forward; the plain executor runs one prompt at a time."""
    with torch.inference_mode():
        return executor.run(work, _ONE_PROMPT if executor.name == "plain" else _ONE_FORWARD)


def run_in_parts(executor: Executor, work: Workload) -> LabelLogProbs:
    """Run only the first label word, whose one token needs no trie, in several forwards  # [prefixes, queries, 1]."""
    token = work.trie.reads[0][0][1]
    alone = Workload(work.prefixes, work.queries, build_label_trie(("short",), ((token,),)))
    with torch.inference_mode():
        return executor.run(alone, _SEVERAL_FORWARDS)


def disagreement(label_log_probs: LabelLogProbs, expected: LabelLogProbs) -> float:
    """Largest |Δ log p| (nats); infinite if either array is not finite."""
    delta = np.abs(label_log_probs - expected)
    return float(delta.max()) if np.isfinite(delta).all() else float("inf")

"""Does an executor give a model's own numbers? Asked at loading, on random tokens, against the plain one.

Packing is silently wrong on some architectures: those that window by index, bias by distance, or carry
state from token to token. So no list of good architectures is trusted; each loaded model is tried.
"""

import numpy as np
import torch

from lens_engine.scoring.executors import Executor, Workload
from lens_engine.scoring.labels import build_label_trie
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import LabelLogProbs

# One pack is 260 tokens: longer than the local window of the released GPT-Neo models (256), which
# packing breaks. Long queries after a short prefix make the fewest tokens for the plain executor.
_PREFIX_LENGTHS = (32, 0, 32)  # two of one length, which the cached executor runs side by side
_QUERY_LENGTHS = (9, 70, 32)
_PROMPT_TOKENS = 32 + 70 + 2
_ONE_FORWARD, _SEVERAL_FORWARDS = 4096, 64
_ONE_PROMPT = 1

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.1}
"""Largest |Δ log p| that is rounding, by the format the model computes in; a wrong mask gives whole nats."""


def make_check_workload(vocabulary_size: int, max_prompt_tokens: int) -> Workload:
    """Three prefixes (one empty) by three queries, with label words of one and of two tokens."""
    shrink = min(1.0, max_prompt_tokens / _PROMPT_TOKENS)
    generator = np.random.default_rng(0)

    def draw(length: int) -> Tokens:
        return tuple(generator.integers(0, vocabulary_size, size=int(length * shrink)).tolist())

    first, second, third = generator.choice(vocabulary_size, size=3, replace=False).tolist()
    trie = build_label_trie(("short", "long"), ((first,), (second, third)))
    return Workload(tuple(draw(n) for n in _PREFIX_LENGTHS), tuple(draw(max(n, 7)) for n in _QUERY_LENGTHS), trie)


def run_check(executor: Executor, work: Workload) -> LabelLogProbs:
    """All in one forward, but for the plain executor: one prompt at a time."""
    with torch.inference_mode():
        return executor.run(work, _ONE_PROMPT if executor.name == "plain" else _ONE_FORWARD)


def run_in_parts(executor: Executor, work: Workload) -> LabelLogProbs:
    """The first label word alone, whose one token needs no trie, over several forwards  # [prefixes, queries, 1]."""
    token = work.trie.reads[0][0][1]
    alone = Workload(work.prefixes, work.queries, build_label_trie(("short",), ((token,),)))
    with torch.inference_mode():
        return executor.run(alone, _SEVERAL_FORWARDS)


def disagreement(label_log_probs: LabelLogProbs, expected: LabelLogProbs) -> float:
    """Largest |Δ log p|; infinite if either side is not finite."""
    delta = np.abs(label_log_probs - expected)
    return float(delta.max()) if np.isfinite(delta).all() else float("inf")

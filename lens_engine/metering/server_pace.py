"""The pace of a server, on a small sample of prompts. They are paid, so their answers are kept for the run."""

import time
from collections import deque
from collections.abc import Callable

from lens_engine.rows.splits import SplitRows
from lens_engine.scoring.base import Block, score_blocks
from lens_engine.scoring.cache.scorer import count_pairs_found
from lens_engine.scoring.spending import PaidScorer
from lens_engine.task.template import Task

_QUERIES = 16
_REQUESTS = 32
"""Largest number of requests of the sample: some rounds of those at once."""

_SHARE = 8
"""Number of candidates for each one of the sample, at least."""


def measure_server_pace(
    rows: SplitRows, task: Task, scorer: PaidScorer, clock: Callable[[], float] = time.monotonic
) -> float | None:
    """Tokens per second on at most 32 requests, each prefix counted once as in `Cost`.

    The prompts are demonstrations alone before the first score examples, as in filtering. Prompts whose answers are on
    disk tell nothing, so others are taken; None if there are no others, or the clock did not advance.
    """
    queries = tuple(task.render_query(example.text) for example in rows.score_set[:_QUERIES])
    blocks = [Block((task.render_prefix([example]),), queries) for example in rows.candidates]
    requests_a_block = scorer.bill(len(queries), 0, task.label_spans).requests
    size = max(min(_REQUESTS // requests_a_block, len(blocks) // _SHARE), 1)
    for start in range(0, len(blocks), size):
        sample = blocks[start : start + size]
        known, started = count_pairs_found(scorer), clock()
        deque(score_blocks(scorer, sample, task.label_spans), maxlen=0)
        elapsed = clock() - started
        if count_pairs_found(scorer) == known:
            tokens = sum(sum(scorer.count_tokens([*block.prefixes[0], *queries])) for block in sample)
            return tokens / elapsed if elapsed > 0 else None
    return None

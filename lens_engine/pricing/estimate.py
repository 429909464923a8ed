"""What a run would cost with this model on this machine, asked before it starts."""

import time
from collections import deque
from collections.abc import Callable

from lens_engine.config import SelectionConfig
from lens_engine.pricing.prices import CostEstimate, Planner, TokenLengths
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.scoring.base import Block, LabelScorer, ParallelScorer, score_blocks
from lens_engine.scoring.cache.scorer import RememberingScorer
from lens_engine.task.template import Task

_SAMPLE_TOKENS = 8_192
"""About what a run scores at a time; a few seconds on a laptop."""

_SAMPLE_QUERIES = 16


def estimate_cost(problem: Problem, scorer: LabelScorer, config: SelectionConfig) -> CostEstimate:
    """Forwards, tokens and seconds of the whole run, by phase; a budget may end it earlier.

    Tokens are counted by the scorer. The pace is measured: a small sample is scored, twice.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
    """
    task = problem.task
    rows = fit_to_context(split_examples(problem, config), task, scorer, config).rows
    lengths = measure_lengths(rows, task, scorer)
    pace = measure_pace(rows, task, scorer)
    return Planner(rows, config, lengths).estimate(pace)


def measure_lengths(rows: SplitRows, task: Task, scorer: LabelScorer) -> TokenLengths:
    """Mean tokens of the candidates as demonstrations and of all other rows as queries."""
    judged = (*rows.score_set, *rows.validation, *rows.confirmation, *rows.test)
    return TokenLengths.from_counts(
        scorer.count_tokens([task.render_demonstration(example) for example in rows.candidates]),
        scorer.count_tokens([task.render_query(example.text) for example in judged]),
    )


def measure_pace(
    rows: SplitRows, task: Task, scorer: LabelScorer, clock: Callable[[], float] = time.monotonic
) -> float | None:
    """Tokens per second over some candidates × queries, after a first call that is not timed.

    None where the clock did not move. A scorer that remembers is made to compute; one with several
    workers has the sample as many times, since a run has enough for all of them.
    """
    if isinstance(scorer, RememberingScorer):
        scorer = scorer.computing
    queries = [task.render_query(example.text) for example in rows.score_set[:_SAMPLE_QUERIES]]
    query_tokens = sum(scorer.count_tokens(queries))
    prefixes, tokens = [], 0
    for example in rows.candidates:
        if tokens >= _SAMPLE_TOKENS:
            break
        prefix = task.render_prefix([example])
        prefixes.append(prefix)
        tokens += sum(scorer.count_tokens(prefix)) + query_tokens
    num_workers = scorer.num_workers if isinstance(scorer, ParallelScorer) else 1
    first, whole = (Block(tuple(prefixes[:count]), tuple(queries)) for count in (1, len(prefixes)))
    deque(score_blocks(scorer, [first] * num_workers, task.label_spans), maxlen=0)
    started = clock()
    deque(score_blocks(scorer, [whole] * num_workers, task.label_spans), maxlen=0)
    elapsed = clock() - started
    return num_workers * tokens / elapsed if elapsed > 0 else None

"""Estimates: the cost of a run with this model on this machine, and the machine's pace."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from lens_engine.classifier.bag_of_words import estimate_accuracy
from lens_engine.metering.cost import Cost
from lens_engine.pricing.prices import TokenLengths
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.rows.splits import SplitRows
from lens_engine.scoring.base import Block, LabelScorer, ParallelScorer, score_blocks
from lens_engine.scoring.cache.scorer import RememberingScorer
from lens_engine.task.template import Task
from lens_engine.types import Phase

_SAMPLE_TOKENS = 8_192
"""Size of the sample (tokens): about as many as a run scores at a time; a few seconds on a laptop."""

_SAMPLE_QUERIES = 16


@dataclass(frozen=True)
class CostEstimate:
    """The cost of each phase when every permutation is judged on every row.

    The pairs are an upper bound: repeated children cost nothing, and dropped permutations cost less. The tokens may be
    slightly higher than estimated, because a race that can drop no permutation feeds some prefixes again.
    """

    phases: dict[Phase, Cost]
    seconds: float | None  #: None if the pace is unknown
    words_accuracy: float | None = None  #: cross-validated accuracy of a bag of words on the same labelled rows

    @classmethod
    def at_pace(
        cls, phases: dict[Phase, Cost], tokens_per_second: float | None, words_accuracy: float | None = None
    ) -> "CostEstimate":
        tokens = sum(cost.tokens for cost in phases.values())
        return cls(phases, tokens / tokens_per_second if tokens_per_second else None, words_accuracy)

    @property
    def total(self) -> Cost:
        return sum(self.phases.values(), Cost())

    def seconds_of(self, phase: Phase) -> float | None:
        """A phase's share of the seconds, in proportion to its tokens; None if the pace is unknown."""
        return None if self.seconds is None else self.seconds * self.phases[phase].tokens / max(self.total.tokens, 1)


def estimate_by_words(rows: SplitRows, task: Task, num_fit_rows: int) -> float:
    """Cross-validated accuracy of a bag of words on the labelled rows that a selection looks at, without test rows."""
    labelled = list_labelled_rows(rows, num_fit_rows)
    return estimate_accuracy([one.text for one in labelled], task.index_labels(labelled), len(task.labels))


def measure_lengths(rows: SplitRows, task: Task, scorer: LabelScorer) -> TokenLengths:
    """Mean number of tokens of the candidates as demonstrations, and of all other rows as queries."""
    judged = (*rows.score_set, *rows.validation, *rows.confirmation, *rows.test)
    return TokenLengths.from_counts(
        scorer.count_tokens([task.render_demonstration(example) for example in rows.candidates]),
        scorer.count_tokens([task.render_query(example.text) for example in judged]),
    )


def measure_pace(
    rows: SplitRows, task: Task, scorer: LabelScorer, clock: Callable[[], float] = time.monotonic
) -> float | None:
    """Tokens per second on a sample of candidates and queries, after a first call that is not timed.

    None if the clock did not advance. A pair cache is bypassed. A scorer with several workers scores the sample once
    for each worker, because a run keeps all workers busy.
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

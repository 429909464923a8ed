"""Estimates: the cost of a run with this model on this machine, and the machine's pace."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from lens_engine.config import PresetName
from lens_engine.metering.prices import Cost, TokenLengths
from lens_engine.model.base import Block, LabelScorer, Prefix, ScorerIdentity
from lens_engine.model.spending import Bill, Paid
from lens_engine.prompt.template import Task
from lens_engine.prompt.wording import describe_seconds, describe_usd
from lens_engine.rows.dealing import DealtRows
from lens_engine.types import Phase

_SAMPLE_TOKENS, _MOST_SAMPLE_TOKENS = 1_024, 8_192
"""Sizes of the first sample, which takes a second or some on a processor, and of the second (tokens)."""

_SAMPLE_SECONDS = 2.0
"""How long the second sample may take, by the pace of the first. A fast device needs a large sample to be measured."""

_TRIES, _TRIES_SECONDS = 3, 8.0
"""Number of measurements of the first sample, and the time after which none is begun. The fastest counts: another
process may take a core for a moment, which has cost a measurement a factor of 15."""

_LEAST_GROWTH = 3
"""A second sample is taken if it can be this much larger than the first."""

_SAMPLE_QUERIES = 16
_FIRST_QUERIES = 2
"""Queries of the call that is not timed."""

_MOST_REQUESTS = 32
"""Largest number of requests of the sample for a server: some rounds of those at once."""

_SERVER_SHARE = 8
"""Number of candidates for each one of the sample for a server, at least."""


@dataclass(frozen=True)
class CostEstimate:
    """The most that each phase costs: no child repeats, and each rung judges as many permutations as it may."""

    phases: dict[Phase, Cost]
    seconds: float | None = None  #: None if the pace is unknown
    bills: Mapping[Phase, Bill] = field(default_factory=dict)  #: of each phase at a server; empty for a model here
    sample: Paid | None = None  #: what the measuring of the pace took at a server

    def at_pace(self, tokens_per_second: float | None) -> "CostEstimate":
        """The estimate with its seconds; a pace of None leaves them unknown."""
        return replace(self, seconds=self.total.tokens / tokens_per_second if tokens_per_second else None)

    @property
    def total(self) -> Cost:
        return sum(self.phases.values(), Cost())

    @property
    def usd(self) -> float | None:
        """The most that the requests cost (USD); None without a server or its prices."""
        prices = [bill.usd for bill in self.bills.values() if bill.usd is not None]
        return sum(prices) if prices else None

    def __repr__(self) -> str:
        cost, usd = self.total, self.usd
        money = "" if usd is None else f", at most {describe_usd(usd)}"
        time = "" if self.seconds is None else f", about {describe_seconds(self.seconds)}"
        return f"CostEstimate({cost.pairs:,} pairs, {cost.tokens:,} tokens{money}{time})"


@dataclass(frozen=True, slots=True)
class PresetPlan:
    """What a selection with one preset would do."""

    preset: PresetName
    counts: dict[str, int] | None  #: number of rows of each kind, by name; None if the rows do not suffice
    refusal: str | None = None  #: why the selection would be refused
    warnings: tuple[str, ...] = ()
    cost: Cost | None = None  #: upper bound; None without a model
    usual_tokens: int | None = None
    """With half of the judging: measured, it takes 0.3 to 0.5 of its upper bound, because most prompts are dropped."""
    seconds: float | None = None  #: of these tokens at the measured pace; None without a model
    bill: Bill | None = None  #: of a model behind a server


def measure_lengths(rows: DealtRows, task: Task, scorer: LabelScorer) -> TokenLengths:
    """Mean number of tokens of the rows as demonstrations, and as queries; then the opening."""
    rows_of_set = rows.proposable
    return TokenLengths.from_counts(
        scorer.count_tokens([task.render_demonstration(example) for example in rows_of_set]),
        scorer.count_tokens([task.render_query(example.text) for example in (*rows.judging, *rows.test)]),
        scorer.count_tokens(task.opening),
    )


def measure_pace(
    rows: DealtRows, task: Task, scorer: LabelScorer, clock: Callable[[], float] = time.monotonic
) -> float | None:
    """Tokens per second on a sample of candidates and queries, after a first call that is not timed; the best of three.

    None if the clock did not advance. A fast device is measured again on a larger sample. A pair cache is bypassed. A
    scorer with several workers scores the sample once for each worker, because a run keeps all workers busy. A server
    is measured on a few requests.
    """
    if scorer.spending is not None:
        return _measure_server_pace(rows, task, scorer, clock)
    sample = _Sample(rows, task, scorer.computing, clock)
    sample.score(1, _FIRST_QUERIES)
    pace = sample.measure_best(_SAMPLE_TOKENS)
    likely = _MOST_SAMPLE_TOKENS if pace is None else pace / sample.num_workers * _SAMPLE_SECONDS
    if likely < _LEAST_GROWTH * _SAMPLE_TOKENS:
        return pace
    larger = sample.measure(min(likely, _MOST_SAMPLE_TOKENS))
    return max(filter(None, (pace, larger)), default=None)


def _measure_server_pace(rows: DealtRows, task: Task, scorer: LabelScorer, clock: Callable[[], float]) -> float | None:
    """Tokens per second on at most 32 requests, each prefix counted once as in `Cost`.

    The prompts are demonstrations alone before the first judging rows. They are paid, so their
    answers are kept for the run. Prompts whose answers are on disk tell nothing, so others are taken; None if there are
    no others, or the clock did not advance.
    """
    queries = tuple(task.render_query(example.text) for example in rows.judging[:_SAMPLE_QUERIES])
    blocks = [Block((task.render_prefix([example]),), queries) for example in rows.proposable]
    requests_a_block = scorer.bill(len(queries), 0, task.label_spans).requests
    size = max(min(_MOST_REQUESTS // requests_a_block, len(blocks) // _SERVER_SHARE), 1)
    for start in range(0, len(blocks), size):
        sample = blocks[start : start + size]
        known, started = scorer.pairs_found, clock()
        deque(scorer.score_blocks(sample, task.label_spans), maxlen=0)
        elapsed = clock() - started
        if scorer.pairs_found == known:
            tokens = sum(sum(scorer.count_tokens([*block.prefixes[0], *queries])) for block in sample)
            return tokens / elapsed if elapsed > 0 else None
    return None


class _Sample:
    """Candidates, each alone before the same few queries, and their tokens."""

    def __init__(self, rows: DealtRows, task: Task, scorer: LabelScorer, clock: Callable[[], float]) -> None:
        self._scorer, self._task, self._clock = scorer, task, clock
        self._queries = [task.render_query(example.text) for example in rows.judging[:_SAMPLE_QUERIES]]
        self._query_tokens = sum(scorer.count_tokens(self._queries))
        self._prefixes = [task.render_prefix([example]) for example in rows.proposable[:_MOST_SAMPLE_TOKENS]]
        self.num_workers = scorer.num_workers

    def measure(self, num_tokens: float) -> float | None:
        """Tokens per second over so few candidates that they have about this number of tokens."""
        count = tokens = 0
        while count < len(self._prefixes) and tokens < num_tokens:
            tokens += sum(self._scorer.count_tokens(self._prefixes[count])) + self._query_tokens
            count += 1
        started = self._clock()
        self.score(count, len(self._queries))
        elapsed = self._clock() - started
        return self.num_workers * tokens / elapsed if elapsed > 0 else None

    def measure_best(self, num_tokens: float) -> float | None:
        """The highest of several measurements; None if the clock did not advance."""
        ended, found = self._clock() + _TRIES_SECONDS, list[float | None]()
        while len(found) < _TRIES and (not found or self._clock() < ended):
            found.append(self.measure(num_tokens))
        return max(filter(None, found), default=None)

    def score(self, num_prefixes: int, num_queries: int) -> None:
        block = Block(tuple(self._prefixes[:num_prefixes]), tuple(self._queries[:num_queries]))
        deque(self._scorer.score_blocks([block] * self.num_workers, self._task.label_spans), maxlen=0)


_UNBOUNDED = 10**9


@dataclass(frozen=True)
class CountingScorer(LabelScorer):
    """Stands for a model whose weights a worker loads. Without its tokenizer, four characters count as a token."""

    model: str
    count: Callable[[Sequence[str]], list[int]] | None
    max_prompt_tokens: int = _UNBOUNDED
    num_layers: int = 1  #: 0 for a model that shows no hidden states, as one behind a server

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity(self.model, "", "float32", "cpu", "plain")

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        if self.count is not None:
            return self.count(segments)
        return [-(-len(segment) // 4) for segment in segments]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[str, ...]]:
        """Each is one token: what ends label words is a token at most, and does not count in an estimate."""
        return [(span,) for span in label_spans]

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> NoReturn:
        raise NotImplementedError("this scorer counts tokens alone")

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> NoReturn:
        raise NotImplementedError("this scorer counts tokens alone")

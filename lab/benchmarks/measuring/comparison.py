"""Engines side by side on one workload: samples of about equal time, repetitions that take turns."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lab.benchmarks.engines.base import Engine, FedTokens, Run, encode
from lab.benchmarks.measuring.seconds import Measurement, measure
from lab.benchmarks.report.records import EngineRun
from lab.benchmarks.workloads.work import Work, part_of_pairs

_MOST_GROWTH = 8.0


def compare_engines(
    engines: Sequence[Engine], work: Work, *, seconds: float, repetitions: int, say: Callable[[str], None]
) -> list[EngineRun]:
    """Run each engine on its sample of `work`, in turns, so that other load on the machine affects all of them.

    Args:
        seconds: approximate duration of one repetition of one engine.
    """
    contestants = [_enter(engine, work, seconds, say) for engine in engines]
    for repetition in range(repetitions):
        first = repetition % len(contestants)
        for contestant in contestants[first:] + contestants[:first]:
            contestant.repeat()
    return [contestant.result() for contestant in contestants]


def choose_sample(
    engine: Engine, work: Work, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> tuple[Work, Run]:
    """A part of `work` that takes the engine about `seconds`, and its run, already done once.

    Engines that share prefixes get fewer prefixes with all queries. For the others all pairs cost the same, so they
    may get fewer queries too.
    """
    pairs = float(engine.smallest_sample)
    while True:
        part = part_of_pairs(work, pairs, whole_prefixes=engine.shares_prefixes)
        run = engine.prepare(part)
        started = clock()
        run()
        took = max(clock() - started, 1e-9)
        if part == work or took > seconds / 2:
            break
        pairs = part.num_pairs * min(seconds / took, _MOST_GROWTH)
    pairs = max(part.num_pairs * seconds / took, engine.smallest_sample)
    sample = part_of_pairs(work, pairs, whole_prefixes=engine.shares_prefixes)
    if sample != part:
        run = engine.prepare(sample)
        run()  # so that one-time work for new shapes is not measured
    return sample, run


def count_ideal_tokens(engine: Engine, sample: Work, work: Work) -> int:
    """The minimum of tokens for the pairs of `sample`.

    An engine that does not share prefixes may get a few queries of a prefix. It is compared with its share of the
    minimum for the whole work, where a prefix serves all queries.
    """
    if engine.shares_prefixes:
        return encode(sample, engine.loaded).workload.ideal_tokens
    return round(encode(work, engine.loaded).workload.ideal_tokens * sample.num_pairs / work.num_pairs)


def _enter(engine: Engine, work: Work, seconds: float, say: Callable[[str], None]) -> "_Contestant":
    sample, run = choose_sample(engine, work, seconds)
    say(f"  {engine.name} ({engine.loaded.dtype}): {len(sample.prefixes)} × {len(sample.queries)} pairs")
    return _Contestant(engine, sample, run, count_ideal_tokens(engine, sample, work))


@dataclass
class _Contestant:
    """An engine with its sample."""

    engine: Engine
    sample: Work
    run: Run
    ideal_tokens: int
    measurements: list[Measurement] = field(default_factory=list)
    fed_tokens: int = 0

    def repeat(self) -> None:
        with FedTokens(self.engine.loaded.model) as fed:
            _, measurement = measure(self.run, self.engine.loaded.device)
        self.fed_tokens = fed.count
        self.measurements.append(measurement)

    def result(self) -> EngineRun:
        peaks = [m.peak_bytes for m in self.measurements if m.peak_bytes is not None]
        return EngineRun(
            engine=self.engine.name,
            dtype=self.engine.loaded.dtype,
            note=self.engine.note,
            prefixes=len(self.sample.prefixes),
            queries=len(self.sample.queries),
            wall=tuple(m.wall for m in self.measurements),
            cpu=tuple(m.cpu for m in self.measurements),
            fed_tokens=self.fed_tokens,
            ideal_tokens=self.ideal_tokens,
            label_positions=encode(self.sample, self.engine.loaded).label_positions,
            peak_bytes=max(peaks, default=None),
        )

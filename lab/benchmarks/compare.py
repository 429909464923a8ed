"""Engines side by side on one workload: samples of about equal time, repetitions that take turns, a table."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from lab.benchmarks.engines import Engine, Run, encode
from lab.benchmarks.measuring import Measurement, counting_tokens, measure
from lab.benchmarks.workloads import Work, part_of_pairs

_MOST_GROWTH = 8.0
_TITLES = {
    "packed": "Lens, packed",
    "cached": "Lens, cached",
    "plain": "plain batch, label position only",
    "harness": "lm-evaluation-harness HFLM",
    "authors": "the authors' scheme",
}
COLUMNS = (
    *("engine", "pairs/s", "pairs/CPU s", "unique tokens/s", "fed/ideal", "of matmul peak", "peak memory"),
    *("max abs Δ log p", "in float32", "sample, pairs"),
)


@dataclass
class Contestant:
    """An engine with its sample of the work, and what was measured."""

    engine: Engine
    sample: Work
    run: Run
    ideal_tokens: int
    measurements: list[Measurement] = field(default_factory=list)
    fed_tokens: int = 0  #: in one repetition, padding included

    def repeat(self) -> None:
        with counting_tokens(self.engine.loaded.model) as fed:
            _, measurement = measure(self.run, self.engine.loaded.device)
        self.fed_tokens = sum(fed)
        self.measurements.append(measurement)

    def row(self, matmul_flops: float, delta: float, delta_float32: float) -> list[str]:
        """The cells of `COLUMNS`.

        Args:
            matmul_flops: floating-point operations a second that matrix products reach in the engine's number format.
            delta: max |Δ log p| against plain in float32.
            delta_float32: the same, with this engine in float32 too.
        """
        loaded, pairs = self.engine.loaded, self.sample.num_pairs
        walls, cpus, peaks = zip(*self.measurements, strict=True)
        seconds = median(walls)
        positions = encode(self.sample, loaded).label_positions
        # The minimum of floating-point operations for these pairs, without attention.
        flops = 2.0 * (loaded.matrix_weights * self.ideal_tokens + loaded.head_weights * positions)
        most = max((peak for peak in peaks if peak is not None), default=None)
        return [
            f"{_TITLES[self.engine.name]}, {loaded.dtype} ({self.engine.note})",
            f"{pairs / seconds:,.1f}",
            f"{pairs / median(cpus):,.1f}",
            f"{self.ideal_tokens / seconds:,.0f}",
            f"{self.fed_tokens / self.ideal_tokens:.2f}",
            f"{flops / seconds / matmul_flops:.0%}",
            "–" if most is None else f"{most / 2**20:,.0f} MiB",
            _show(delta),
            _show(delta_float32),
            f"{len(self.sample.prefixes)} × {len(self.sample.queries)}",
        ]


def compare_engines(
    engines: Sequence[Engine], work: Work, *, seconds: float, repetitions: int, say: Callable[[str], None]
) -> list[Contestant]:
    """Run each engine on its sample of `work`, in turns, so that other load on the machine affects all of them.

    Args:
        seconds: approximate duration of one repetition of one engine.
    """
    contestants = []
    for engine in engines:
        sample, run = choose_sample(engine, work, seconds)
        say(f"  {engine.name} ({engine.loaded.dtype}): {len(sample.prefixes)} × {len(sample.queries)} pairs")
        contestants.append(Contestant(engine, sample, run, count_ideal_tokens(engine, sample, work)))
    for repetition in range(repetitions):
        first = repetition % len(contestants)
        for contestant in contestants[first:] + contestants[:first]:
            contestant.repeat()
    return contestants


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
    """The minimum of tokens for the pairs of `sample`: each prefix once, and each query once for each prefix.

    An engine that does not share prefixes may get a few queries of a prefix. It is compared with its share of the
    minimum for the whole work, where a prefix serves all queries.
    """
    if engine.shares_prefixes:
        return encode(sample, engine.loaded).workload.ideal_tokens
    return round(encode(work, engine.loaded).workload.ideal_tokens * sample.num_pairs / work.num_pairs)


def _show(value: float) -> str:
    if value != 0 and abs(value) < 0.01:
        return f"{value:.0e}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2f}"

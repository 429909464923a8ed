"""Engines side by side on one workload: samples of about equal time, repetitions that take turns, a table."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from lab.benchmarks.engines import LensEngine, Run
from lab.benchmarks.harness import HarnessEngine
from lab.benchmarks.measuring import Measurement, measure
from lab.benchmarks.workloads import Work, part_of_pairs

Engine = LensEngine | HarnessEngine

_MOST_GROWTH = 8.0
_TITLES = {
    "packed": "Lens, packed",
    "cached": "Lens, cached",
    "plain": "plain batch, label position only",
    "harness": "lm-evaluation-harness HFLM",
}
COLUMNS = ("engine", "pairs/s", "pairs/CPU s", "peak memory", "max abs Δ log p", "in float32", "sample, pairs")


@dataclass
class Contestant:
    """An engine with its sample of the work, and what was measured."""

    engine: Engine
    sample: Work
    run: Run
    measurements: list[Measurement] = field(default_factory=list)

    def row(self, delta: float, delta_float32: float) -> list[str]:
        """The cells of `COLUMNS`.

        Args:
            delta: max |Δ log p| against plain in float32.
            delta_float32: the same, with this engine in float32 too.
        """
        pairs = self.sample.num_pairs
        walls, cpus, peaks = zip(*self.measurements, strict=True)
        most = max((peak for peak in peaks if peak is not None), default=None)
        return [
            f"{_TITLES[self.engine.name]}, {self.engine.loaded.dtype} ({self.engine.note})",
            f"{pairs / median(walls):,.1f}",
            f"{pairs / median(cpus):,.1f}",
            "–" if most is None else f"{most / 2**20:,.0f} MiB",
            f"{delta:.0e}",
            f"{delta_float32:.0e}",
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
        contestants.append(Contestant(engine, sample, run))
    for repetition in range(repetitions):
        first = repetition % len(contestants)
        for contestant in contestants[first:] + contestants[:first]:
            contestant.measurements.append(measure(contestant.run, contestant.engine.loaded.device)[1])
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

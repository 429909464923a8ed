"""Targets: what each demands, what was measured, and by how much it was met or missed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.report.records import ComparisonRecord, EngineRun, SearchRecord, WorkloadRun

_STAGE_1, _STAGE_2 = ("W1-14", "W1-56"), ("W2",)
_ON_MAIN_MODEL = ("W1-14", "W1-56", "W2", "W3", "W4")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target beside what was measured."""

    title: str
    bound: str  #: "≥" or "≤"
    target: float
    measured: float | None  #: None if it was not measured

    @property
    def is_met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= self.target if self.bound == "≥" else self.measured <= self.target

    @property
    def outcome(self) -> str:
        """Whether the target was met; if not, by how much it was missed."""
        if self.measured is None:
            return "not measured"
        if self.is_met:
            return "met"
        return f"missed by {abs(self.measured / self.target - 1):.0%}"


def judge_comparison(record: ComparisonRecord) -> Iterator[Verdict]:
    """The targets of a comparison of engines; the worst workload counts."""
    on_cuda = record.device == "cuda"

    def at_least(title: str, cpu: float, cuda: float, measured: float | None) -> Verdict:
        return Verdict(title, "≥", cuda if on_cuda else cpu, measured)

    def at_most(title: str, cpu: float, cuda: float, measured: float | None) -> Verdict:
        return Verdict(title, "≤", cuda if on_cuda else cpu, measured)

    dtype = record.dtype
    yield at_most("fed / ideal tokens, packed", 1.01, 1.01, _worst_fed(record, "packed"))
    yield at_most("fed / ideal tokens, cached", 1.6, 1.3, _worst_fed(record, "cached"))
    yield at_least("stage 1 (W1) over HFLM, same dtype", 2.0, 1.9, _speedup(record, _STAGE_1, "harness", dtype))
    yield at_least("stage 2 (W2) over HFLM, same dtype", 8.0, 8.5, _speedup(record, _STAGE_2, "harness", dtype))
    yield at_least("W1 over the authors' scheme, same dtype", 15, 17, _speedup(record, _STAGE_1, "authors", dtype))
    yield at_least("W2 over the authors' scheme, same dtype", 18, 17, _speedup(record, _STAGE_2, "authors", dtype))
    both = (*_STAGE_1, *_STAGE_2)
    in_float32 = _speedup(record, both, "authors", "float32")
    yield at_least(f"{dtype} over the authors' scheme in float32", 60, 100, in_float32)
    if on_cuda:
        yield Verdict("share of the measured matmul peak", "≥", 0.45, _worst_peak_share(record))
    else:
        yield Verdict("share of the attention-free floor", "≥", 0.60, _worst_floor_share(record))
    yield Verdict("max abs Δ log p in float32, packed and cached", "≤", 1e-4, _worst_delta(record))
    if record.agreement is not None:
        same = record.agreement.same_survivors and record.agreement.same_permutation
        yield Verdict("same survivors and final permutation in float32 (1 for yes)", "≥", 1, float(same))


def judge_search(record: SearchRecord) -> Iterator[Verdict]:
    """The targets of a whole search."""
    candidates, limit = (6920, 40.0) if record.device == "cuda" else (512, 180.0)
    if (record.candidates, record.iterations) == (candidates, 10):
        title = f"whole search, paper settings, N = {candidates:,}, 10 iterations, seconds"
        yield Verdict(title, "≤", limit, record.run.wall)


def _of_main_model(record: ComparisonRecord) -> Iterator[WorkloadRun]:
    return (workload for workload in record.workloads if workload.key in _ON_MAIN_MODEL)


def _packed(workload: WorkloadRun) -> EngineRun | None:
    return workload.find("packed")


def _worst_fed(record: ComparisonRecord, engine: str) -> float | None:
    runs = (workload.find(engine) for workload in _of_main_model(record))
    return max((run.fed_ratio for run in runs if run), default=None)


def _speedup(record: ComparisonRecord, keys: Iterable[str], rival: str, dtype: str) -> float | None:
    """Pairs a second of packed divided by the rival's; the minimum over the workloads."""
    ratios = []
    for workload in filter(None, map(record.find, keys)):
        ours, theirs = _packed(workload), workload.find(rival, dtype)
        if ours and theirs:
            ratios.append(ours.pairs_per_second / theirs.pairs_per_second)
    return min(ratios, default=None)


def _worst_floor_share(record: ComparisonRecord) -> float | None:
    return _least(record, lambda workload, run: workload.floor_share(run))


def _worst_peak_share(record: ComparisonRecord) -> float | None:
    return _least(record, lambda workload, run: workload.flops_per_second(run) / record.matmul_flops[run.dtype])


def _least(record: ComparisonRecord, share: Callable[[WorkloadRun, EngineRun], float | None]) -> float | None:
    """The minimum of a share over the workloads of stages 1 and 2, for packed."""
    workloads = filter(None, map(record.find, (*_STAGE_1, *_STAGE_2)))
    shares = [share(workload, run) for workload in workloads if (run := _packed(workload))]
    return min((found for found in shares if found is not None), default=None)


def _worst_delta(record: ComparisonRecord) -> float | None:
    runs = (w.find(engine) for w in record.workloads for engine in ("packed", "cached"))
    return max((run.delta_float32 for run in runs if run and run.delta_float32 is not None), default=None)

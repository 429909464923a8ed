"""The targets beside what the steps measured."""

from collections.abc import Iterator, Sequence

from benchmarks.gpu.runner import Finding, StepRecord
from benchmarks.gpu.steps.exactness import largest_delta_in_float32
from benchmarks.report.records import ComparisonRecord, SearchRecord
from benchmarks.report.tables import show_verdicts
from benchmarks.report.targets import Verdict, judge_comparison, judge_search

_NO_COMPARISON: Finding = {
    "machine": {"processor": "", "accelerator": None, "threads": 1, "load": 0.0, "packages": {}},
    "model": "",
    "device": "cuda",
    "dtype": "float16",
    "seconds_per_repetition": 0.0,
    "matmul_flops": {},
    "workloads": (),
    "agreement": None,
    "profiles": {},
}


def show_targets(records: Sequence[StepRecord]) -> str:
    """A Markdown table of the targets, then the steps that did not end well."""
    broken = [record for record in records if record.outcome != "done"]
    lines = [show_verdicts(judge_steps(records))]
    lines += [f"{record.step}: {record.outcome}; {_last_line(record.error)}\n" for record in broken]
    return "".join(lines)


def judge_steps(records: Sequence[StepRecord]) -> Iterator[Verdict]:
    """Every target that the plan has a step for. A step that found nothing leaves its targets not measured."""
    found = {record.step: record.findings for record in records}
    yield from _judge_kernel(found.get("kernel", ()))
    delta = largest_delta_in_float32(iter(found.get("exactness", ())))
    yield Verdict("max abs Δ log p in float32, packed and cached, small models", "≤", 1e-4, delta)
    yield from _judge_repeatability(found.get("repeatability", ()))
    comparison = _last_record(found.get("comparison", ()))
    yield from judge_comparison(ComparisonRecord.model_validate(comparison or _NO_COMPARISON))
    search = _last_record(found.get("search", ()))
    if search is not None:
        yield from judge_search(SearchRecord.model_validate(search))
    else:
        yield Verdict("whole search, paper settings, N = 6,920, 10 iterations, seconds", "≤", 40.0, None)


def _judge_kernel(findings: Sequence[Finding]) -> Iterator[Verdict]:
    """Faults of the kernel that packed uses; other kernels are only candidates."""
    ours = [finding for finding in findings if finding["kernel"] in ("in use", "in turn")]
    is_right = float(not any(finding["faults"] for finding in ours)) if ours else None
    yield Verdict("attention kernel without a fault (1 for yes)", "≥", 1, is_right)


def _judge_repeatability(findings: Sequence[Finding]) -> Iterator[Verdict]:
    same = {finding["selection"]: finding.get("same") for finding in findings if "selection" in finding}
    for where in ("same process", "fresh processes"):
        measured = None if same.get(where) is None else float(bool(same[where]))
        yield Verdict(f"same bits of a selection, {where} (1 for yes)", "≥", 1, measured)
    executors = next((found for found in findings if found.get("selection") == "executors in float32"), None)
    agreed = None if executors is None else float(executors["same_survivors"] and executors["same_permutation"])
    yield Verdict("same survivors and permutation with each executor in float32 (1 for yes)", "≥", 1, agreed)
    tuning = next((finding for finding in findings if "fine-tuning" in finding), None)
    repeated = None if tuning is None else float(bool(tuning["same"]))
    yield Verdict("same bits of a fine-tuning (1 for yes)", "≥", 1, repeated)


def _last_record(findings: Sequence[Finding]) -> Finding | None:
    return next((finding["record"] for finding in reversed(findings) if "record" in finding), None)


def _last_line(error: str | None) -> str:
    return (error or "").strip().rpartition("\n")[2]

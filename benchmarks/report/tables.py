"""Write the stored results into docs/performance.md: `python -m benchmarks.report.tables`.

The page has a section for every file of benchmarks/results that `benchmarks.run` or `benchmarks.studies.search` wrote.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.report.page import PAGE, RESULTS, markdown_table, write_section
from benchmarks.report.records import ComparisonRecord, EngineRun, SearchRecord, WorkloadRun
from benchmarks.report.targets import Verdict, judge_comparison, judge_search

ENGINE_TITLES = {
    "packed": "Lens, packed",
    "cached": "Lens, cached",
    "plain": "plain batch, label position only",
    "harness": "lm-evaluation-harness HFLM",
    "authors": "the authors' scheme",
    "floor": "attention-free floor",
}
_DEVICES = ("cpu", "cuda")


def main() -> int:
    for device in _DEVICES:
        comparison, search = RESULTS / f"{device}.json", RESULTS / f"search-{device}.json"
        if comparison.exists():
            _write_comparison(ComparisonRecord.model_validate_json(comparison.read_text("utf-8")))
        if search.exists():
            record = SearchRecord.model_validate_json(search.read_text("utf-8"))
            write_section(f"search {device}", show_search(record))
    return 0


def _write_comparison(record: ComparisonRecord) -> None:
    from benchmarks.report.plots import plot_speed

    picture = Path("images", f"engines-{record.device}.svg")
    (PAGE.parent / picture).parent.mkdir(exist_ok=True)
    plot_speed(record, PAGE.parent / picture)
    alternative = f"Unique tokens a second of each engine on each workload, {record.device}"
    write_section(f"engines {record.device}", f"{show_comparison(record)}\n![{alternative}]({picture})")


def show_comparison(record: ComparisonRecord) -> str:
    """Targets, a table for each workload, and shares of the time."""
    parts = [
        f"{record.machine.describe()} Model `{record.model}`, `{record.dtype}` unless said otherwise; "
        f"matrix products reach {_show_flops(record.matmul_flops)}.",
        show_verdicts(judge_comparison(record)),
        *(show_workload(workload, record.matmul_flops) for workload in record.workloads),
    ]
    if record.profiles:
        parts.append(_show_profiles(record))
    return "\n".join(parts)


def show_search(record: SearchRecord) -> str:
    """The run as a table, and the targets."""
    run = record.run
    header = ["seconds", "of them stage 1", "CPU seconds", "pairs", "tokens/s", "permutation"]
    row = [
        f"{run.wall:.1f}",
        f"{run.filter_seconds:.1f}",
        f"{run.cpu:.1f}",
        f"{run.pairs:,}",
        f"{run.tokens / run.wall:,.0f}",
        " ".join(map(str, run.permutation)),
    ]
    intro = f"{record.machine.describe()} Model `{record.model}`, `{record.dtype}`, N = {record.candidates:,}, "
    intro += f"{record.iterations} iterations."
    return "\n".join([intro, "", markdown_table(header, [row]), show_verdicts(judge_search(record))])


def show_verdicts(verdicts: Iterable[Verdict]) -> str:
    rows = [
        [verdict.title, f"{verdict.bound} {_show(verdict.target)}", _show(verdict.measured), verdict.outcome]
        for verdict in verdicts
    ]
    return "\n" + markdown_table(["Target", "", "measured", ""], rows)


def show_workload(workload: WorkloadRun, matmul_flops: dict[str, float]) -> str:
    header = ["engine", "pairs/s", "pairs/CPU s", "unique tokens/s", "fed/ideal", "of floor", "of matmul peak"]
    header += ["peak memory", "max abs Δ log p", "in float32", "sample, pairs"]
    rows = [_engine_row(workload, run, matmul_flops[run.dtype]) for run in workload.engines]
    lines = [f"**{workload.key}**, {workload.title}; `{workload.model}`, which runs {workload.executor}.", ""]
    lines.append(markdown_table(header, rows))
    if workload.share_cut:
        lines.append(f"The authors' fixed length cuts {workload.share_cut:.0%} of these prompts, which shows in Δ.\n")
    return "\n".join(lines)


def _engine_row(workload: WorkloadRun, run: EngineRun, peak: float) -> list[str]:
    floor_share = workload.floor_share(run)
    return [
        f"{ENGINE_TITLES[run.engine]}, {run.dtype} ({run.note})",
        f"{run.pairs_per_second:,.1f}",
        f"{run.pairs_per_cpu_second:,.1f}",
        f"{run.tokens_per_second:,.0f}",
        f"{run.fed_ratio:.2f}",
        "–" if floor_share is None else f"{floor_share:.0%}",
        f"{workload.flops_per_second(run) / peak:.0%}",
        "–" if run.peak_bytes is None else f"{run.peak_bytes / 2**20:,.0f} MiB",
        _show(run.delta),
        _show(run.delta_float32),
        f"{run.prefixes} × {run.queries}",
    ]


def _show_profiles(record: ComparisonRecord) -> str:
    kinds = dict.fromkeys(row.kind for rows in record.profiles.values() for row in rows)
    shares = {key: {row.kind: row.share for row in rows} for key, rows in record.profiles.items()}
    rows = [[kind, *(f"{found.get(kind, 0):.0%}" for found in shares.values())] for kind in kinds]
    title = "Where the time of the packed executor goes, as a share of the time inside operators:"
    return "\n".join([title, "", markdown_table(["", *shares], rows)])


def _show_flops(rates: dict[str, float]) -> str:
    return ", ".join(f"{rate / 1e12:,.2f} TFLOP/s in {dtype}" for dtype, rate in rates.items())


def _show(value: float | None) -> str:
    if value is None:
        return "–"
    if value != 0 and abs(value) < 0.01:
        return f"{value:.0e}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())

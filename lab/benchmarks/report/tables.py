"""Write the stored results into docs/performance.md: `python -m lab.benchmarks.report.tables`.

The page has a section for every file of benchmarks/results that `lab.benchmarks.run` wrote.
"""

import sys
from pathlib import Path

from lab.benchmarks.report.records import ComparisonRecord, EngineRun, WorkloadRun

PAGE = Path(__file__).parents[3] / "docs" / "performance.md"
RESULTS = Path(__file__).parents[1] / "results"

ENGINE_TITLES = {
    "packed": "Lens, packed",
    "cached": "Lens, cached",
    "plain": "plain batch, label position only",
    "harness": "lm-evaluation-harness HFLM",
    "authors": "the authors' scheme",
}
_DEVICES = ("cpu", "cuda")


def main() -> int:
    for device in _DEVICES:
        path = RESULTS / f"{device}.json"
        if path.exists():
            record = ComparisonRecord.model_validate_json(path.read_text("utf-8"))
            write_section(f"engines {device}", show_comparison(record))
    return 0


def write_section(name: str, content: str, page: Path = PAGE) -> None:
    """Replace the text between the markers of section `name`.

    Raises:
        ValueError: the page has no such markers.
    """
    text = page.read_text("utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page.name} has no section {begin} … {end}; add these markers to it")
    page.write_text(f"{before}{begin}\n\n{content.strip()}\n\n{end}{after}", "utf-8")


def show_comparison(record: ComparisonRecord) -> str:
    """The machine, and a table for each workload."""
    intro = (
        f"{record.machine.describe()} Model `{record.model}`, `{record.dtype}` unless said otherwise; "
        f"matrix products reach {_show_flops(record.matmul_flops)}."
    )
    tables = (show_workload(workload, record.matmul_flops) for workload in record.workloads)
    return "\n".join([intro, "", *tables])


def show_workload(workload: WorkloadRun, matmul_flops: dict[str, float]) -> str:
    header = ["engine", "pairs/s", "pairs/CPU s", "unique tokens/s", "fed/ideal", "of matmul peak"]
    header += ["peak memory", "max abs Δ log p", "in float32", "sample, pairs"]
    rows = [_engine_row(workload, run, matmul_flops[run.dtype]) for run in workload.engines]
    lines = [f"**{workload.key}**, {workload.title}; `{workload.model}`, which runs {workload.executor}.", ""]
    lines += [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)] + [""]
    if workload.share_cut:
        lines.append(f"The authors' fixed length cuts {workload.share_cut:.0%} of these prompts, which shows in Δ.\n")
    return "\n".join(lines)


def _engine_row(workload: WorkloadRun, run: EngineRun, peak: float) -> list[str]:
    return [
        f"{ENGINE_TITLES[run.engine]}, {run.dtype} ({run.note})",
        f"{run.pairs_per_second:,.1f}",
        f"{run.pairs_per_cpu_second:,.1f}",
        f"{run.tokens_per_second:,.0f}",
        f"{run.fed_ratio:.2f}",
        f"{workload.flops_per_second(run) / peak:.0%}",
        "–" if run.peak_bytes is None else f"{run.peak_bytes / 2**20:,.0f} MiB",
        _show(run.delta),
        _show(run.delta_float32),
        f"{run.prefixes} × {run.queries}",
    ]


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

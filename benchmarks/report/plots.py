"""The plot of docs/performance.md. The only module that needs matplotlib."""

from pathlib import Path

from benchmarks.report.records import ComparisonRecord

_ORDER = ("authors", "harness", "plain", "cached", "packed", "floor")
_COLOURS = {
    "authors": "#b0b0b0",
    "harness": "#7f9fc6",
    "plain": "#9ec5ab",
    "cached": "#e0a458",
    "packed": "#c1443c",
    "floor": "#dddddd",
}


def plot_speed(record: ComparisonRecord, path: Path) -> None:
    """Unique tokens a second of each engine, a group of bars for each workload, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lens"  # the same picture for the same numbers
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9.0, 4.0), layout="constrained")
    width = 0.8 / len(_ORDER)
    for index, engine in enumerate(_ORDER):
        runs = [(place, workload.find(engine)) for place, workload in enumerate(record.workloads)]
        bars = [(place + (index - len(_ORDER) / 2) * width, run.tokens_per_second) for place, run in runs if run]
        if bars:
            places, heights = zip(*bars, strict=True)
            axes.bar(places, heights, width, align="edge", label=engine, color=_COLOURS[engine])
    axes.set_yscale("log")
    axes.set_xticks(range(len(record.workloads)), [workload.key for workload in record.workloads])
    axes.set_ylabel("unique tokens a second")
    axes.set_title(f"{record.model}, {record.dtype}, {record.device}")
    axes.legend(ncols=len(_ORDER), fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.1), frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)

"""From a finding to files: Markdown, CSV, SVG. The only module that sets matplotlib up."""

from pathlib import Path
from typing import Any

from experiments.findings.finding import Finding, Plot, join_name
from lens_engine.disk.replace_file import replace_file

_STYLE: Any = {
    "svg.hashsalt": "lens",  # the same picture for the same numbers
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and compared
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10.0,
}


def write(finding: Finding, folder: Path) -> list[Path]:
    """Write NAME.md, a CSV for each table and an SVG for each plot; return their paths, the page first.

    The same finding gives the same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{finding.name}.md"
    files = {page: render_page(finding).encode()}
    for table in finding.tables:
        if table.in_csv:
            files[folder / f"{join_name(finding.name, table.name)}.csv"] = table.csv().encode()
    for path, content in files.items():
        replace_file(path, content)
    return [*files, *(_draw(plot, folder / _picture(finding, plot)) for plot in finding.plots)]


def render_page(finding: Finding) -> str:
    """Title, notes, pictures, tables."""
    pictures = (f"![{plot.alternative}]({_picture(finding, plot)})" for plot in finding.plots)
    tables = (table.markdown().strip() for table in finding.tables if table.in_page)
    return "\n\n".join((f"# {finding.title}", *finding.notes, *pictures, *tables)) + "\n"


def _picture(finding: Finding, plot: Plot) -> str:
    return f"{join_name(finding.name, plot.name)}.svg"


def _draw(plot: Plot, path: Path) -> Path:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=plot.size, layout="constrained")
        FigureCanvasSVG(figure)
        plot.draw(figure)
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path

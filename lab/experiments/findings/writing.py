"""From a finding to files: Markdown and CSV."""

from pathlib import Path

from lab.experiments.findings.finding import Finding
from lens_engine.disk.replace_file import replace_file


def write(finding: Finding, folder: Path) -> list[Path]:
    """Write NAME.md and a CSV for each table; return their paths, the page first.

    The same finding gives the same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{finding.name}.md": render_page(finding)}
    for table in finding.tables:
        if table.in_csv:
            name = f"{finding.name}-{table.name}" if table.name else finding.name
            files[folder / f"{name}.csv"] = table.csv()
    for path, content in files.items():
        replace_file(path, content.encode())
    return list(files)


def render_page(finding: Finding) -> str:
    """Title, notes, tables."""
    tables = (table.markdown().strip() for table in finding.tables if table.in_page)
    return "\n\n".join((f"# {finding.title}", *finding.notes, *tables)) + "\n"

"""docs/performance.md: prose by hand; the benchmarks write what stands between markers."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report.records import Machine

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
RESULTS = Path(__file__).parents[1] / "results"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A GitHub table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def write_section(name: str, content: str, page: Path = PAGE) -> None:
    """Replace the text between the markers of section `name`.

    Raises:
        ValueError: the page has no such markers.
    """
    text = page.read_text("utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page.name} has no section {begin} … {end}; add these markers to it")
    page.write_text(pattern.sub(lambda _: f"{begin}\n\n{content.strip()}\n\n{end}", text), "utf-8")


def write_study(
    name: str, machine: Machine, measured: Mapping[str, Any], section: str, folder: Path = RESULTS, page: Path = PAGE
) -> None:
    """Write the results of a study: NAME.json, and the page's section NAME with spaces for hyphens.

    Both begin with the machine. The caller describes the machine before it measures, since measuring adds to the load.

    Raises:
        ValueError: the page has no such section; the JSON is written all the same.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"machine": machine.model_dump(), **measured}, indent=2)
    (folder / f"{name}.json").write_text(content + "\n", "utf-8")
    write_section(name.replace("-", " "), f"{machine.describe()}\n\n{section}", page)

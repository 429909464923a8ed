"""docs/performance.md: prose by hand; the benchmarks write what stands between markers."""

import re
from pathlib import Path

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

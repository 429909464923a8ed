"""Tables in Markdown."""

from collections.abc import Sequence


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table; none without rows. A cell is one line of Markdown."""
    lines = [head, ["---"] * len(head), *rows] if rows else []
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def make_cell(text: str) -> str:
    """Plain text of the code, with code between backticks, as one line of Markdown."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*").replace("~/", "\\~/")

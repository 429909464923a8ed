"""Notes: what was read or done although it may surprise."""

from rich.console import Console
from rich.text import Text


def show_note(note: str, console: Console) -> None:
    """Print a note on one line, however long."""
    console.print(Text.assemble(("note: ", "yellow"), note), soft_wrap=True)

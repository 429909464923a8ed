"""Notes: what was read or done although it may surprise."""

from rich.console import Console
from rich.text import Text

from lens_cli.refusals import name_flags


def show_note(note: str, console: Console) -> None:
    """Print a note on one line, however long, in the words of the command line."""
    console.print(Text.assemble(("note: ", "yellow"), name_flags(note)), soft_wrap=True)

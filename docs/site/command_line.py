"""The page on the command `lens`, from its Typer application."""

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import typer

from docs.site.tables import make_cell, make_table
from lens_cli.application import create_application


def write_command_line() -> str:
    """A section for each command: its help, arguments and options."""
    sections = [line for name, command in _list_commands(_root(), "lens") for line in _describe(name, command)]
    return "\n".join(["# Command line", "", "`lens COMMAND --help` shows the same.", "", *sections])


def _root() -> Any:
    return typer.main.get_command(create_application())


def _list_commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _list_commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def _describe(name: str, command: Any) -> list[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    records = [record for given in command.params if (record := given.get_help_record(context)) is not None]
    rows = [[f"`{term}`", make_cell(meaning)] for term, meaning in records]
    return [f"## {name}", "", cleandoc(command.help or ""), "", *make_table(["Argument", "Meaning"], rows), ""]

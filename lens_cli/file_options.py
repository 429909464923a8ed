"""Groups of options, and those that say how a file is read."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console

from lens_cli.refusals import EXIT_INTERRUPTED, refusing


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer registers it, which reads signatures: each group is replaced by its fields.

    A field is written as a parameter of a command is: its name is the flag (`text_column` is --text-column), and a
    field without a default is required. Errors that a user can understand become refusals, a stop signal an exit code.
    """
    own = inspect.signature(command, eval_str=True)
    annotations: dict[str, Any] = {name: one.annotation for name, one in own.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in annotations.items() if is_dataclass(kind)}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        try:
            with refusing():
                command(**given, **made)
        except KeyboardInterrupt:
            Console(stderr=True).print("Stopped.")
            raise typer.Exit(EXIT_INTERRUPTED) from None

    options = list[inspect.Parameter]()
    for name, one in own.parameters.items():
        options += _list_fields(groups[name]) if name in groups else [one.replace(kind=one.KEYWORD_ONLY)]
    run.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in options}
    return run


def _list_fields(group: Any) -> list[inspect.Parameter]:
    hints, kind = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            one.name,
            kind,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(group)
    ]


if TYPE_CHECKING:  # commands import this module for their help, and this is slow to import
    from lens_engine.files import Dialect

file_option = partial(typer.Option, rich_help_panel="The file", show_default=False)

TestFile = Annotated[
    Path | None, file_option(help="Test rows with the same columns; default: none, and the labelled rows judge.")
]


@dataclass(frozen=True, slots=True)
class TextFileOptions:
    """How a file of texts is read."""

    text_column: Annotated[
        list[str] | None,
        file_option(
            metavar="NAME",
            help="Name of the column of texts; repeat it to join the texts of several; 'column 2' is the second; "
            "default: that of the selection whose result is used, or found in the file.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        file_option(
            metavar="STRING", help="Delimiter of a CSV file: , or ; or | or || or tab; default: found in the file."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        file_option(metavar="NAME", help="Encoding of a text file, e.g. windows-1251; default: found in the file."),
    ] = None

    @property
    def columns(self) -> str | tuple[str, ...] | None:
        """The column of texts, or several."""
        names = self.text_column
        return None if not names else names[0] if len(names) == 1 else tuple(names)

    @property
    def dialect(self) -> "Dialect":
        from lens_engine.files import Dialect

        return Dialect(self.encoding, self.delimiter)

    @property
    def parts(self) -> dict[str, Any]:
        """What a service is told of a file, by its parameters."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class RowFileOptions(TextFileOptions):
    """How a file of labelled rows is read."""

    label_column: Annotated[
        str | None,
        file_option(metavar="NAME", help="Name of the column of labels; default: label, or found in the file."),
    ] = None

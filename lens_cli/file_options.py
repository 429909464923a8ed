"""Options of the commands that read a file of rows."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:  # commands import this module for their help, and this is slow to import
    from lens_engine.reading import Dialect

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
        from lens_engine.reading import Dialect

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

"""Options of the commands that read a file of rows."""

from typing import Annotated

import typer

Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Delimiter of a CSV file: , or ; or | or tab; default: found in the file.",
        show_default=False,
    ),
]

Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text file, e.g. windows-1251; default: found in the file.",
        show_default=False,
    ),
]

"""Options of the commands that read a file of rows."""

from collections.abc import Sequence
from pathlib import Path
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

Unlabelled = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File for the rows of TRAIN with a text and no label as CSV, which lens classify reads; it is replaced.",
    ),
]


def join_columns(names: Sequence[str] | None) -> str | tuple[str, ...] | None:
    """The column of texts, or several, of an option that may be repeated."""
    return None if not names else names[0] if len(names) == 1 else tuple(names)

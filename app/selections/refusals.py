"""Turns errors of the engine and the parser into API errors that point at a field of the body."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from app.errors import RefusedInput
from app.problems import ErrorItem, point
from lens_engine.errors import InvalidInput
from lens_engine.reading import ParsedDataset
from lens_engine.reading.table import LABEL, TEXT, ColumnNames, show_columns

_INLINE_NAMES = {"dataset": "examples", "test": "test_examples"}
_INLINE = frozenset(_INLINE_NAMES.values())
Columns = tuple[ColumnNames, ColumnNames]
"""Names of the columns of the texts and the labels."""

_BARE = frozenset({"texts", "dataset_id", "test_dataset_id", "text_column", "label_column", "delimiter", "encoding"})


@contextmanager
def invalid_inputs(**parts: object) -> Iterator[None]:
    """Turn an `InvalidInput` of the block into `RefusedInput`.

    Args:
        parts: the rows of `dataset` and `test`. A `ParsedDataset` says whether the rows are in the JSON body, and how
            the columns are called that errors call text and label.
    """
    try:
        yield
    except InvalidInput as error:
        parsed = {name: rows for name, rows in parts.items() if isinstance(rows, ParsedDataset)}
        inline = [name for name, rows in parsed.items() if rows.format == "inline"]
        columns = {name: rows.columns for name, rows in parsed.items()}
        raise RefusedInput(error, as_items(error, inline, columns)) from error


def as_items(
    error: InvalidInput, inline: Collection[str] = (), columns: Mapping[str, Columns] | None = None
) -> list[ErrorItem]:
    """All faults of one error, each with its pointer.

    Args:
        inline: those of `dataset` and `test` whose rows are in the JSON body.
        columns: of `dataset` and `test`, for errors that call them text and label.
    """
    return [
        {"detail": fault.detail, "pointer": _point(_rename(fault.field, columns or {}), fault.row, inline)}
        for fault in error.faults
    ]


def _rename(field: str, columns: Mapping[str, Columns]) -> str:
    root, _, column = field.partition(".")
    names = dict(zip((TEXT, LABEL), map(show_columns, columns.get(root, ())), strict=False))
    return f"{root}.{names[column]}" if column in names else field


def _point(field: str, row: int | None, inline: Collection[str]) -> str:
    """Build the JSON pointer: `/spec/...`, `/dataset/rows/7/label` in a file, `/examples/7/label` inline."""
    root, _, rest = field.partition(".")
    if root in {*_INLINE_NAMES, *_INLINE}:
        name = _INLINE_NAMES[root] if root in inline else root
        rows: tuple[str | int, ...] = () if row is None else (row,) if name in _INLINE else ("rows", row)
        return point(name, *rows, *([rest] if rest else []))
    if root in _BARE:
        return point(root)
    # A label may contain dots and is one part of the path.
    parts = [rest] if root == "verbalizer" else rest.split(".")
    return point("spec", root, *(part for part in parts if part))

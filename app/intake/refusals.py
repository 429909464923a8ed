"""Turns errors of the engine and the parser into API errors that point at a field of the body."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from app.errors import RefusedInput
from app.problems import ErrorItem, point
from lens_engine.errors import InvalidInput
from lens_engine.reading.table import LABEL, TEXT, ColumnNames, show_columns

_INLINE_NAMES = {"dataset": "examples", "test": "test_examples"}
_INLINE = frozenset(_INLINE_NAMES.values())
Columns = tuple[ColumnNames, ColumnNames]
"""Names of the columns of the texts and the labels."""

_BARE = frozenset({"texts", "dataset_id", "test_dataset_id", "text_column", "label_column", "delimiter", "encoding"})


@contextmanager
def invalid_inputs(*, inline: bool, columns: Columns | None = None) -> Iterator[None]:
    """Turn an `InvalidInput` of the block into `RefusedInput`.

    Args:
        inline: whether the rows are in the JSON body.
        columns: those of the dataset, for errors that call them text and label.
    """
    try:
        yield
    except InvalidInput as error:
        raise as_problem([error], inline=inline, columns=columns) from error


def as_problem(found: Sequence[InvalidInput], *, inline: bool, columns: Columns | None = None) -> RefusedInput:
    """Combine all errors into one. Its code is that of the first error."""
    return RefusedInput(found[0], [item for error in found for item in as_items(error, inline=inline, columns=columns)])


def as_items(error: InvalidInput, *, inline: bool, columns: Columns | None = None) -> list[ErrorItem]:
    """All faults of one error, each with its pointer. See `invalid_inputs` for the arguments."""
    return [
        {"detail": fault.detail, "pointer": pointer(_rename(fault.field, columns), fault.row, inline)}
        for fault in error.faults
    ]


def _rename(field: str, columns: Columns | None) -> str:
    root, _, column = field.partition(".")
    names = dict(zip((TEXT, LABEL), map(show_columns, columns or ()), strict=False))
    return f"{root}.{names[column]}" if root in _INLINE_NAMES and column in names else field


def pointer(field: str, row: int | None, inline: bool) -> str:
    """Build the JSON pointer: `/spec/...`, `/dataset/rows/7/label` in a file, `/examples/7/label` inline."""
    root, _, rest = field.partition(".")
    if root in {*_INLINE_NAMES, *_INLINE}:
        name = _INLINE_NAMES.get(root, root) if inline else root
        rows: tuple[str | int, ...] = () if row is None else (row,) if name in _INLINE else ("rows", row)
        return point(name, *rows, *([rest] if rest else []))
    if root in _BARE:
        return point(root)
    # A label may contain dots and is one part of the path.
    parts = [rest] if root == "verbalizer" else rest.split(".")
    return point("spec", root, *(part for part in parts if part))

"""Turns errors of the engine and the parser into API errors that point at a field of the body."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from app.errors import RefusedInput
from app.web.problems import ErrorItem, point
from lens_engine.errors import InvalidConfig, InvalidDataset, InvalidInput

_INLINE_NAMES = {"dataset": "examples", "test": "test_examples"}
_INLINE = frozenset(_INLINE_NAMES.values())
_IDS = frozenset({"dataset_id", "test_dataset_id"})


@contextmanager
def invalid_inputs(*, inline: bool) -> Iterator[None]:
    """Turn an `InvalidInput` of the block into `RefusedInput`. `inline`: the rows are in the JSON body."""
    try:
        yield
    except InvalidInput as error:
        raise as_problem([error], inline=inline) from error


def as_problem(found: Sequence[InvalidInput], *, inline: bool) -> RefusedInput:
    """Combine all errors into one. Its code is that of the first error."""
    return RefusedInput(found[0], [item for error in found for item in _items(error, inline)])


def _items(error: InvalidInput, inline: bool) -> list[ErrorItem]:
    if isinstance(error, InvalidDataset) and error.problems:
        return [{"detail": row.detail, "pointer": pointer(row.field, row.row, inline)} for row in error.problems]
    if isinstance(error, InvalidConfig):
        return [{"detail": one.detail, "pointer": pointer(one.field, None, inline)} for one in error.problems]
    return [{"detail": str(error), "pointer": pointer(error.field, error.row, inline)}]


def pointer(field: str, row: int | None, inline: bool) -> str:
    """Build the JSON pointer: `/spec/...`, `/dataset/rows/7/label` in a file, `/examples/7/label` inline."""
    root, _, rest = field.partition(".")
    if root in {*_INLINE_NAMES, *_INLINE}:
        name = _INLINE_NAMES.get(root, root) if inline else root
        rows: tuple[str | int, ...] = () if row is None else (row,) if name in _INLINE else ("rows", row)
        return point(name, *rows, *([rest] if rest else []))
    if root in _IDS:
        return point(root)
    # A label may contain dots and is one part of the path.
    parts = [rest] if root == "verbalizer" else rest.split(".")
    return point("spec", root, *(part for part in parts if part))

"""Reads JSON values as text and label: a string is taken unchanged, and a label may be an integer."""

from collections.abc import Mapping

from lens_engine.reading.row_sink import NO_CELLS, RowSink
from lens_engine.reading.strict_json import MAX_DIGITS
from lens_engine.task.text_checks import show_names

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a number"),
    (float, "a number"),
    (list, "a list"),
    (dict, "an object"),
)


def add_value(value: object, rows: RowSink, *, line: int | None = None) -> None:
    """Give the sink one JSON row; note a value that is no object, lacks a key or has a wrong type."""
    if isinstance(value, Mapping):
        _add_mapping(value, rows, line)
    else:
        wanted = ", ".join(f'"{name}": "…"' for name in rows.columns.names)
        rows.note(None, f"is not a JSON object; write {{{wanted}}}", line=line)


def _add_mapping(item: Mapping[str, object], rows: RowSink, line: int | None) -> None:
    columns = rows.columns
    missing = [column for column in columns.names if column not in item]
    if missing:
        found = f"keys found: {show_names(list(item)) or 'none'}"
        if len(missing) == 1:
            rows.note(missing[0], f"is missing; {found}", line=line)
        else:
            advice = f"name the keys to read ({columns.parameters})"
            rows.note(None, f"has no keys {show_names(missing)}; {found}; rename them, or {advice}", line=line)
        return
    text, label = item[columns.text], None if columns.label is None else _write_integer(item[columns.label])
    if not isinstance(text, str | None):
        rows.note(columns.text, _refuse_type(text), line=line)
    elif not isinstance(label, str | None):
        rows.note(columns.label, _refuse_type(label), line=line)
    else:
        rows.skip_columns([name for name in item if name not in columns.names])
        rows.add(text, label, line=line, cells=item if rows.keeps_cells else NO_CELLS)


def _write_integer(label: object) -> object:
    if isinstance(label, int) and not isinstance(label, bool) and abs(label) < 10**MAX_DIGITS:
        return str(label)
    return label


def _refuse_type(value: object) -> str:
    kind = next((kind for known, kind in _KINDS if isinstance(value, known)), "of another type")
    return f"is {kind}, not a string; put it in quotes"

"""The rows of an input with their predictions, as CSV, JSONL or Parquet. Command and service write the same bytes."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import isfinite
from typing import Any, Literal

from lens_engine.predicting.rows import Prediction
from lens_engine.reading import TextRow
from lens_engine.reading.text_checks import SURROGATE

TableFormat = Literal["csv", "jsonl", "parquet"]

MEDIA_TYPES: dict[TableFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

_PLAIN = (str, int, float, bool, type(None))
_LINES_A_PIECE = 1000


@dataclass(frozen=True)
class PredictedTable:
    """The rows of an input with their predictions."""

    labels: tuple[str, ...]
    input_columns: tuple[str, ...]  #: names of the columns of the input
    rows: Callable[[], Iterable[tuple[TextRow, Prediction]]]  #: in order; called once for each file
    delimiter: str | None = None  #: of the input; None for a comma
    has_mark: bool = (
        True  #: whether a CSV file begins with a byte order mark, which tells a spreadsheet that it is UTF-8
    )

    @cached_property
    def kept(self) -> dict[str, str]:
        """The columns of the input, with their names in the output."""
        own = {"row", "label", "probability", "probabilities", "error", *self._shares}
        kept = dict[str, str]()
        for name in self.input_columns:
            shown = SURROGATE.sub("\ufffd", name)
            while shown in own:
                shown = f"input_{shown}"
            kept[name] = shown
            own.add(shown)
        return kept

    @property
    def columns(self) -> list[str]:
        return ["row", *self.kept.values(), "label", "probability", *self._shares, "error"]

    @property
    def _shares(self) -> list[str]:
        return [f"p_{label}" for label in self.labels]

    def lines(self) -> Iterator[list[Any]]:
        """The cells of each row, in the order of `columns`; None where a bad row has no value."""
        for number, (row, one) in enumerate(self.rows()):
            cells = [_show(row.cells.get(name)) for name in self.kept]
            probabilities = one.probabilities or (None,) * len(self.labels)
            yield [number, *cells, one.label, one.probability, *probabilities, one.error]


def list_columns(rows: Iterable[TextRow]) -> tuple[str, ...]:
    """The names of all columns of the rows, in order."""
    return tuple(dict.fromkeys(name for row in rows for name in row.cells if name))


def write_table(table: PredictedTable, format: TableFormat) -> Iterator[bytes]:
    """The table as a file, piece by piece."""
    return _WRITERS[format](table)


def _show(cell: object) -> object:
    """A value that every format can hold. Half of a surrogate pair cannot be written as UTF-8."""
    if isinstance(cell, str):
        return SURROGATE.sub("\ufffd", cell)
    if isinstance(cell, list | dict):
        return SURROGATE.sub("\ufffd", json.dumps(cell, ensure_ascii=False, default=str))
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return cell if isinstance(cell, _PLAIN) else str(cell)


def _write_csv(table: PredictedTable) -> Iterator[bytes]:
    """With the delimiter of the input."""
    if table.has_mark:
        yield "\ufeff".encode()
    for piece in _pieces(table, [table.columns]):
        file = io.StringIO(newline="")
        # Every string is quoted: before Python 3.13, the module leaves a lone carriage return unquoted.
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, delimiter=table.delimiter or ",")
        writer.writerows(piece)
        yield file.getvalue().encode()


def _write_jsonl(table: PredictedTable) -> Iterator[bytes]:
    """The probabilities of a row are one object; null for a bad row."""
    own = len(table.kept)
    for piece in _pieces(table):
        lines = []
        for number, *cells, error in piece:
            kept, (label, probability, *shares) = cells[:own], cells[own:]
            found = {"row": number, **dict(zip(table.kept.values(), kept, strict=True))}
            probabilities = None if label is None else dict(zip(table.labels, shares, strict=True))
            found |= {"label": label, "probability": probability, "probabilities": probabilities, "error": error}
            lines.append(json.dumps(found, ensure_ascii=False) + "\n")
        yield "".join(lines).encode()


def _pieces(table: PredictedTable, first: Sequence[list[Any]] = ()) -> Iterator[Sequence[list[Any]]]:
    yield first
    lines = table.lines()
    while piece := list(islice(lines, _LINES_A_PIECE)):
        yield piece


def _write_parquet(table: PredictedTable) -> Iterator[bytes]:
    """All rows at once: the type of a column is known when its last cell is."""
    import pyarrow
    from pyarrow.parquet import write_table as write_file

    types = {"row": pyarrow.int64(), "label": pyarrow.string(), "error": pyarrow.string()}
    types |= dict.fromkeys(("probability", *(f"p_{label}" for label in table.labels)), pyarrow.float64())
    cells = list(zip(*table.lines(), strict=True)) or [()] * len(table.columns)
    arrays = [_to_arrow(column, types.get(name)) for name, column in zip(table.columns, cells, strict=True)]
    file = io.BytesIO()
    write_file(pyarrow.Table.from_arrays(arrays, names=table.columns), file)
    yield file.getvalue()


def _to_arrow(column: Sequence[Any], known: Any) -> Any:
    """A column; one of values of several types as strings."""
    import pyarrow

    try:
        return pyarrow.array(column, known)
    except (pyarrow.ArrowException, OverflowError):
        return pyarrow.array([None if cell is None else str(cell) for cell in column], pyarrow.string())


_WRITERS: dict[TableFormat, Callable[[PredictedTable], Iterator[bytes]]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}

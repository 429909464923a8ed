"""The rows of an input with their predictions, as CSV, JSONL or Parquet. Command and service write the same bytes."""

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from lens_engine.evaluation.batches import Prediction
from lens_engine.files import TextRow
from lens_engine.files.rows import unpack_cells
from lens_engine.prompt.text_checks import SURROGATE
from lens_engine.show.exports import escape_cell

TableFormat = Literal["csv", "jsonl", "parquet"]

MEDIA_TYPES: dict[TableFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

_PIECE_BYTES = 2**18
_BATCH_BYTES = 2**21
"""Size of the rows of one row group of a Parquet file, and of what is in memory of it many times over (bytes)."""


@dataclass(frozen=True)
class PredictedTable:
    """The rows of an input with their predictions."""

    labels: tuple[str, ...]
    input_columns: tuple[str, ...]  #: names of the columns of the input, in the order of the cells
    rows: Callable[[], Iterable[tuple[TextRow, Prediction]]]  #: in order; called twice for a Parquet file
    text_place: int | None = None  #: index of the column of texts; None if no column is
    delimiter: str | None = None  #: of the input; None for a comma
    has_mark: bool = (
        True  #: whether a CSV file begins with a byte order mark, which tells a spreadsheet that it is UTF-8
    )
    spool_dir: Path | None = None  #: folder in which a Parquet file is made; None for that of the system
    answer_above: float | None = None
    """Least probability of a label that is given; None for every label. With it, a row below has no label, and a column
    `answered` tells which rows have one."""

    @cached_property
    def kept(self) -> list[str]:
        """The columns of the input, by their names in the output."""
        own = {"row", "label", "probability", "probabilities", "error", *self._shares, *self.marks}
        kept = list[str]()
        for name in self.input_columns:
            shown = SURROGATE.sub("\ufffd", name)
            while shown in own:
                shown = f"input_{shown}"
            kept.append(shown)
            own.add(shown)
        return kept

    @property
    def columns(self) -> list[str]:
        return ["row", *self.kept, "label", "probability", *self._shares, *self.marks, "error"]

    @property
    def marks(self) -> list[str]:
        """The column that tells whether a row has a label, if some may have none."""
        return [] if self.answer_above is None else ["answered"]

    @property
    def _shares(self) -> list[str]:
        return [f"p_{label}" for label in self.labels]

    def lines(self) -> Iterator[list[Any]]:
        """The cells of each row, in the order of `columns`; None where a bad row has no value."""
        for number, (row, one) in enumerate(self.rows()):
            shares = shorten(one.probabilities)
            shown = shares or (None,) * len(self.labels)
            probability = max(shares, default=None)
            label, marks = one.label, list[bool]()
            if self.answer_above is not None:
                marks = [is_answered(probability, self.answer_above)]
                label = label if marks[0] else None
            yield [number, *self.cells(row), label, probability, *shown, *marks, one.error]

    def cells(self, row: TextRow) -> list[Any]:
        """The values of a row of the input, in the order of `kept`."""
        return unpack_cells(row.cells, row.text, len(self.input_columns), self.text_place)


def is_answered(probability: float | None, answer_above: float) -> bool:
    """Whether an answer of this probability is given; a bad row has none. It is compared as the file shows it."""
    return probability is not None and shorten([probability])[0] >= answer_above


def shorten(probabilities: Sequence[float]) -> list[float]:
    """The probabilities with six significant digits, the most that every 32-bit float has."""
    return list(map(float, ("%.6g " * len(probabilities) % tuple(probabilities)).split()))


def write_table(table: PredictedTable, format: TableFormat) -> Iterator[bytes]:
    """The table as a file, piece by piece."""
    return _WRITERS[format](table)


def _write_csv(table: PredictedTable) -> Iterator[bytes]:
    """With the delimiter of the input, if it is one character.

    A cell that a spreadsheet would run as a formula begins with an apostrophe.
    """
    if table.has_mark:
        yield "\ufeff".encode()
    file = io.StringIO(newline="")
    # Every string is quoted: before Python 3.13, the module leaves a lone carriage return unquoted.
    delimiter = table.delimiter if table.delimiter and len(table.delimiter) == 1 else ","
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, delimiter=delimiter)
    for line in chain([table.columns], table.lines()):
        writer.writerow([escape_cell(cell) if isinstance(cell, str) else cell for cell in line])
        if file.tell() >= _PIECE_BYTES:
            yield file.getvalue().encode()
            file.seek(0)
            file.truncate()
    yield file.getvalue().encode()


def _write_jsonl(table: PredictedTable) -> Iterator[bytes]:
    """The probabilities of a row are one object; null for a bad row."""
    own, num_labels, piece, size = len(table.kept), len(table.labels), list[str](), 0
    for number, *cells, error in table.lines():
        kept, (label, probability, *shares) = cells[:own], cells[own:]
        found = {"row": number, **dict(zip(table.kept, kept, strict=True))}
        known = dict(zip(table.labels, shares[:num_labels], strict=True))
        found |= {"label": label, "probability": probability, "probabilities": None if probability is None else known}
        found |= {**dict(zip(table.marks, shares[num_labels:], strict=True)), "error": error}
        piece.append(json.dumps(found, ensure_ascii=False) + "\n")
        size += len(piece[-1])
        if size >= _PIECE_BYTES:
            yield "".join(piece).encode()
            piece, size = [], 0
    yield "".join(piece).encode()


def _write_parquet(table: PredictedTable) -> Iterator[bytes]:
    """The rows are read twice: the type of a column is known when its last cell is. The file is made on the disk."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    types = {"row": pyarrow.int64(), **dict(zip(table.kept, find_types(table), strict=True))}
    types |= dict.fromkeys(("label", "error"), pyarrow.string()) | dict.fromkeys(table.marks, pyarrow.bool_())
    types |= dict.fromkeys(("probability", *(f"p_{label}" for label in table.labels)), pyarrow.float64())
    schema = pyarrow.schema([(name, types[name]) for name in table.columns])
    with tempfile.TemporaryFile(dir=table.spool_dir) as file:
        with ParquetWriter(file, schema) as writer:
            for batch in _batches(table):
                columns = [
                    _to_arrow(cells, one.type) for cells, one in zip(zip(*batch, strict=True), schema, strict=True)
                ]
                writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
        file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _batches(table: PredictedTable) -> Iterator[list[list[Any]]]:
    """The lines, some at a time."""
    lines, size = list[list[Any]](), 0
    for line in table.lines():
        lines.append(line)
        size += sum(len(cell) if isinstance(cell, str) else 8 for cell in line)
        if size >= _BATCH_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def find_types(table: PredictedTable) -> list[Any]:
    """The type of each column of the input; strings for values of several types, unless all are numbers."""
    import pyarrow

    known = {
        frozenset[object](): pyarrow.null(),
        frozenset({bool}): pyarrow.bool_(),
        frozenset({int}): pyarrow.int64(),
        frozenset({"long"}): pyarrow.int64(),
        frozenset({int, "long"}): pyarrow.int64(),
        frozenset({float}): pyarrow.float64(),
        frozenset({int, float}): pyarrow.float64(),
    }
    found = [set[object]() for _ in table.kept]
    for row, _ in table.rows():
        for kinds, cell in zip(found, table.cells(row), strict=True):
            if cell is not None:
                kinds.add(_kind_of(cell))
    return [known.get(frozenset(kinds), pyarrow.string()) for kinds in found]


def _kind_of(cell: object) -> object:
    """The type of a value; other names for whole numbers that a float does not have, or no Parquet type."""
    if type(cell) is not int or abs(cell) <= 2**53:
        return type(cell)
    return "long" if -(2**63) <= cell < 2**63 else "too long"


def _to_arrow(column: Sequence[Any], known: Any) -> Any:
    import pyarrow

    if known == pyarrow.string():
        column = [None if cell is None else str(cell) for cell in column]
    return pyarrow.array(column, known)


_WRITERS: dict[TableFormat, Callable[[PredictedTable], Iterator[bytes]]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}

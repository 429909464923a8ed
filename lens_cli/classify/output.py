"""Predictions as CSV, JSONL or Parquet; the suffix of the file decides."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from lens_cli.classify.predicting import Prediction
from lens_cli.refusals import RefusedInput
from lens_engine.disk.replace_file import replace_file
from lens_engine.reading import ReadTexts
from lens_engine.reading.dialect import UTF8
from lens_engine.reading.text_checks import SURROGATE

_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class PredictedTable:
    """The rows of an input with their predictions."""

    labels: tuple[str, ...]
    input: ReadTexts
    predictions: Sequence[Prediction]

    @cached_property
    def kept(self) -> dict[str, str]:
        """The columns of the input, with their names in the output."""
        names = dict.fromkeys(name for row in self.input.rows for name in row.cells if name)
        own = {"row", "label", "probability", "probabilities", "error", *self._shares}
        kept = dict[str, str]()
        for name in names:
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
        for number, (row, one) in enumerate(zip(self.input.rows, self.predictions, strict=True)):
            cells = [_show(row.cells.get(name)) for name in self.kept]
            probabilities = one.probabilities or (None,) * len(self.labels)
            yield [number, *cells, one.label, one.probability, *probabilities, one.error]


def check_suffix(path: Path) -> None:
    """
    Raises:
        Refusal: the suffix names no format.
    """
    if path.suffix.lower() not in _WRITERS:
        *others, last = _WRITERS
        message = f"cannot tell the format of {path}; its name must end in {', '.join(others)} or {last}"
        raise RefusedInput(message, "where: --output")


def write_predictions(table: PredictedTable, path: Path) -> None:
    """Write the table; an existing file is replaced whole or not at all."""
    replace_file(path, _WRITERS[path.suffix.lower()](table))


def _show(cell: object) -> object:
    """A value that every format can hold. Half of a surrogate pair cannot be written as UTF-8."""
    if isinstance(cell, str):
        return SURROGATE.sub("\ufffd", cell)
    if isinstance(cell, list | dict):
        return SURROGATE.sub("\ufffd", json.dumps(cell, ensure_ascii=False, default=str))
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return cell if isinstance(cell, _PLAIN) else str(cell)


def _write_csv(table: PredictedTable) -> bytes:
    """With the delimiter of the input. A byte order mark tells a spreadsheet that the file is UTF-8."""
    file, dialect = io.StringIO(newline=""), table.input.dialect
    # Every string is quoted: before Python 3.13, the module leaves a lone carriage return unquoted.
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, delimiter=dialect.delimiter or ",")
    writer.writerow(table.columns)
    writer.writerows(table.lines())
    return file.getvalue().encode("utf-8" if dialect.encoding == UTF8 else "utf-8-sig")


def _write_jsonl(table: PredictedTable) -> bytes:
    """The probabilities of a row are one object; null for a bad row."""
    lines, own = [], len(table.kept)
    for number, *cells, error in table.lines():
        kept, (label, probability, *shares) = cells[:own], cells[own:]
        found = {"row": number, **dict(zip(table.kept.values(), kept, strict=True))}
        probabilities = None if label is None else dict(zip(table.labels, shares, strict=True))
        found |= {"label": label, "probability": probability, "probabilities": probabilities, "error": error}
        lines.append(json.dumps(found, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def _write_parquet(table: PredictedTable) -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    types = {"row": pyarrow.int64(), "label": pyarrow.string(), "error": pyarrow.string()}
    types |= dict.fromkeys(("probability", *(f"p_{label}" for label in table.labels)), pyarrow.float64())
    cells = list(zip(*table.lines(), strict=True)) or [()] * len(table.columns)
    arrays = [_to_arrow(column, types.get(name)) for name, column in zip(table.columns, cells, strict=True)]
    file = io.BytesIO()
    write_table(pyarrow.Table.from_arrays(arrays, names=table.columns), file)
    return file.getvalue()


def _to_arrow(column: Sequence[Any], known: Any) -> Any:
    """A column; one of values of several types as strings."""
    import pyarrow

    try:
        return pyarrow.array(column, known)
    except (pyarrow.ArrowException, OverflowError):
        return pyarrow.array([None if cell is None else str(cell) for cell in column], pyarrow.string())


_WRITERS: dict[str, Callable[[PredictedTable], bytes]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}

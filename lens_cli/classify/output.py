"""Predictions as CSV, JSONL or Parquet; the suffix of the file decides."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lens_cli.classify.predicting import Prediction
from lens_cli.refusals import RefusedInput
from lens_engine.disk.replace_file import replace_file
from lens_engine.reading import TextRow

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class PredictedTable:
    """The rows of an input with their predictions."""

    labels: tuple[str, ...]
    rows: Sequence[TextRow]
    predictions: Sequence[Prediction]

    @property
    def columns(self) -> list[str]:
        return ["row", "text", "label", "probability", *(f"p_{label}" for label in self.labels), "error"]

    def lines(self) -> Iterator[list[Any]]:
        """The cells of each row, in the order of `columns`; None where a bad row has no value."""
        for number, (row, one) in enumerate(zip(self.rows, self.predictions, strict=True)):
            text = _SURROGATE.sub("\ufffd", row.text)  # half of a pair, as in a bad row, cannot be written as UTF-8
            probabilities = one.probabilities or (None,) * len(self.labels)
            yield [number, text, one.label, one.probability, *probabilities, one.error]


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


def _write_csv(table: PredictedTable) -> bytes:
    file = io.StringIO(newline="")
    # Every string is quoted: before Python 3.13, the module leaves a lone carriage return unquoted.
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(table.columns)
    writer.writerows(table.lines())
    return file.getvalue().encode()


def _write_jsonl(table: PredictedTable) -> bytes:
    """The probabilities of a row are one object; null for a bad row."""
    lines = []
    for number, text, label, probability, *probabilities, error in table.lines():
        found = {"row": number, "text": text, "label": label, "probability": probability}
        shares = None if label is None else dict(zip(table.labels, probabilities, strict=True))
        lines.append(json.dumps({**found, "probabilities": shares, "error": error}, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def _write_parquet(table: PredictedTable) -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    types = {"row": pyarrow.int64(), "text": pyarrow.string(), "label": pyarrow.string(), "error": pyarrow.string()}
    cells = list(zip(*table.lines(), strict=True)) or [()] * len(table.columns)
    arrays = [
        pyarrow.array(column, types.get(name, pyarrow.float64()))
        for name, column in zip(table.columns, cells, strict=True)
    ]
    file = io.BytesIO()
    write_table(pyarrow.Table.from_arrays(arrays, names=table.columns), file)
    return file.getvalue()


_WRITERS: dict[str, Callable[[PredictedTable], bytes]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}

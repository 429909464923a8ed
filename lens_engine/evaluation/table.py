"""The rows of a file with what Lens adds to them: predictions as CSV or JSONL, and texts to label as CSV.

Command and service write the same bytes.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from lens_engine.evaluation.batches import Prediction
from lens_engine.files import ReadTexts
from lens_engine.files.columns import fold_name
from lens_engine.files.table import LABEL
from lens_engine.prompt.labelling import ChosenText
from lens_engine.prompt.text_checks import SURROGATE
from lens_engine.show.exports import escape_cell

TableFormat = Literal["csv", "jsonl"]

MEDIA_TYPES: dict[TableFormat, str] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}

_PIECE_BYTES = 2**18


@dataclass(frozen=True)
class PredictedTable:
    """The rows of a file with their predictions."""

    labels: tuple[str, ...]
    texts: ReadTexts
    predictions: Sequence[Prediction]
    answer_above: float | None = None
    """Least probability of a label that is given; None for every label. With it, a row below has no label, and a column
    `answered` tells which rows have one."""

    @cached_property
    def kept(self) -> list[str]:
        """The columns of the input, by their names in the output."""
        return name_columns(self.texts, {*self.added, "probabilities"})

    @property
    def added(self) -> list[str]:
        """The columns beside those of the input."""
        return ["label", "probability", *(f"p_{label}" for label in self.labels), *self.marks, "error"]

    @property
    def marks(self) -> list[str]:
        """The column that tells whether a row has a label, if some may have none."""
        return [] if self.answer_above is None else ["answered"]

    def lines(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """The cells of each row, in the order of `kept` and of `added`; None where a bad row has no value."""
        for row, one in zip(self.texts.rows, self.predictions, strict=True):
            shares = shorten(one.probabilities)
            shown = shares or (None,) * len(self.labels)
            probability = max(shares, default=None)
            label, marks = one.label, list[bool]()
            if self.answer_above is not None:
                marks = [is_answered(probability, self.answer_above)]
                label = label if marks[0] else None
            yield self.texts.unpack(row), [label, probability, *shown, *marks, one.error]


def name_columns(texts: ReadTexts, added: Iterable[str]) -> list[str]:
    """The columns of a file beside those that are added: `input_NAME` for one whose name is taken."""
    taken, kept = set(added), list[str]()
    for name in texts.columns:
        shown = SURROGATE.sub("\ufffd", name)
        while shown in taken:
            shown = f"input_{shown}"
        kept.append(shown)
        taken.add(shown)
    return kept


def is_answered(probability: float | None, answer_above: float) -> bool:
    """Whether an answer of this probability is given; a bad row has none. It is compared as the file shows it."""
    return probability is not None and shorten([probability])[0] >= answer_above


def shorten(probabilities: Sequence[float]) -> list[float]:
    """The probabilities with six significant digits, the most that every 32-bit float has."""
    return list(map(float, ("%.6g " * len(probabilities) % tuple(probabilities)).split()))


def write_table(table: PredictedTable, format: TableFormat) -> Iterator[bytes]:
    """The table as a file, piece by piece."""
    if format == "jsonl":
        return _write_jsonl(table)
    return _write_rows(table.texts, table.kept, table.added, table.lines())


def write_chosen(texts: ReadTexts, chosen: Sequence[ChosenText], label_column: str | None) -> bytes:
    """The rows of a file that are to be labelled, as CSV with an empty column for the label, and how each was chosen.

    A file that has the column of the labels already gets no other.
    """
    name = label_column or LABEL
    new = [] if fold_name(name) in map(fold_name, texts.columns) else [name]
    added = [*new, "chosen_by"]
    rows = ((texts.unpack(texts.rows[one.place]), [*([None] * len(new)), one.chosen_by]) for one in chosen)
    return b"".join(_write_rows(texts, name_columns(texts, added), added, rows))


def _write_rows(
    texts: ReadTexts, kept: Sequence[str], added: Sequence[str], lines: Iterable[tuple[list[Any], list[Any]]]
) -> Iterator[bytes]:
    """With the delimiter of the file, if it is one character, and with its byte order mark.

    A cell that a spreadsheet would run as a formula begins with an apostrophe.
    """
    if texts.dialect.has_mark:
        yield "\ufeff".encode()
    file, named = io.StringIO(newline=""), texts.dialect.delimiter
    # Every string is quoted: before Python 3.13, the module leaves a lone carriage return unquoted.
    delimiter = named if named and len(named) == 1 else ","
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, delimiter=delimiter)
    writer.writerow(map(_show, [*kept, *added]))
    for own, new in lines:
        writer.writerow([*map(_show, own), *(_fix(cell) if isinstance(cell, float) else _show(cell) for cell in new)])
        if file.tell() >= _PIECE_BYTES:
            yield file.getvalue().encode()
            file.seek(0)
            file.truncate()
    yield file.getvalue().encode()


def _show(cell: object) -> object:
    """A cell of CSV; true and false are written as in JSON."""
    return str(cell).lower() if isinstance(cell, bool) else escape_cell(cell) if isinstance(cell, str) else cell


def _fix(probability: float) -> Decimal:
    """With six decimals: a spreadsheet may take 6.1e-05 for a text."""
    return Decimal(f"{probability:.6f}")


def _write_jsonl(table: PredictedTable) -> Iterator[bytes]:
    """The probabilities of a row are one object; null for a bad row."""
    num_labels, piece, size = len(table.labels), list[str](), 0
    for own, (label, probability, *shares, error) in table.lines():
        found = dict(zip(table.kept, own, strict=True))
        known = dict(zip(table.labels, shares[:num_labels], strict=True))
        found |= {"label": label, "probability": probability, "probabilities": None if probability is None else known}
        found |= {**dict(zip(table.marks, shares[num_labels:], strict=True)), "error": error}
        piece.append(json.dumps(found, ensure_ascii=False) + "\n")
        size += len(piece[-1])
        if size >= _PIECE_BYTES:
            yield "".join(piece).encode()
            piece, size = [], 0
    yield "".join(piece).encode()

"""The third room: the rows of a table as labelled texts, or as texts alone with all their cells.

Labelled rows are checked, and a few bad ones left out. Rows of texts alone are all kept, the bad ones with what is
wrong. Their cells are packed: the names of the columns once, and the values of each row as a JSON array, in which the
value of the column of texts is left out where it is the text of the row.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from typing import Any

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.files.choice import ColumnChoice, Named, choose, find_composed
from lens_engine.files.columns import fold_name
from lens_engine.files.limits import BadRows, DatasetEmpty, DatasetTooLarge, ParsingLimits
from lens_engine.files.table import (
    LABEL,
    ONE_LABEL,
    TEXT,
    ColumnNames,
    DatasetFormat,
    Fault,
    Row,
    Table,
    WantedColumns,
    show_columns,
)
from lens_engine.files.text_file import FoundDialect
from lens_engine.prompt.text_checks import (
    BIDI_CONTROLS,
    MAX_SHOWN,
    UNSTORABLE,
    ZERO_WIDTH,
    find_fault,
    is_blank,
    replace_unstorable,
    show_names,
    show_places,
)
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.rows.problem import digest_examples
from lens_engine.types import Example, name_place

_MAX_UNUSED_KEPT = 100
"""Largest number of unused column names kept, and of characters of each, because a file may have any number."""
_MAX_GAPS = 0.1  #: largest share of rows that are left out; if there are more, something else is wrong
_NO_LABEL = "without a label"  #: the kind of rows that are not lost: they have a text to classify
_PERHAPS_EMPTY = ("-1", "NA", "N/A", "NaN", "nan", "NULL", "null", "\\N")
"""What databases and tools write for no value, or for no label."""
_INVISIBLE = {"bidirectional control": BIDI_CONTROLS, "zero-width": ZERO_WIDTH}
_DOUBT = "a quoted text with lines that look like rows of their own; if a quote was left open there, close it"


def _describe(oddities: Sequence[tuple[str, str]], verb: str | None = None) -> Iterator[str]:
    """A sentence of each kind of rows, with their number and the places of the first."""
    for kind, number in Counter(kind for kind, _ in oddities).items():
        first = islice((place for one, place in oddities if one == kind), MAX_SHOWN)
        yield f"{show_count(number, 'row', verb)} {kind} ({show_places(list(first), number)})"


@dataclass(frozen=True, slots=True)
class ParsedDataset:
    """The labelled texts of one upload, exactly as written."""

    examples: tuple[Example, ...]  #: at least two; `row` counts data rows from 0, blank ones left out
    format: DatasetFormat
    sha256: str  #: of the (text, label) rows in order; equal rows have equal digests in every format
    warnings: tuple[str, ...]  #: one sentence for each oddity that was accepted
    columns: tuple[ColumnNames, str]  #: of the texts and the labels
    dialect: FoundDialect | None = None  #: how the file is written; None for rows that were in no file
    unlabelled: tuple[Example, ...] = ()  #: rows with a text and no label, whose `label` is ""
    choice: ColumnChoice | None = None  #: why these columns


def collect_rows(table: Table, named: Named, limits: ParsingLimits, field: str) -> ParsedDataset:
    """The labelled texts of a table; errors as of `parse_dataset`."""
    choice = choose(table, named, field)
    assert choice.label is not None
    wanted = WantedColumns(choice.text.wanted, choice.label.name)
    rows = _LabelledRows(limits, field, wanted, table.encoding)
    for row in table.rows():
        rows.add(row)
    rows.check()
    return ParsedDataset(
        tuple(rows.examples),
        table.format,
        digest_examples(rows.examples),
        (*choice.notes(), *table.dialect.notes, *rows.describe()),
        (choice.text.wanted, choice.label.name),
        None if table.format == "inline" else table.dialect,
        tuple(rows.unlabelled),
        choice,
    )


class _LabelledRows:
    """Keeps the good rows, leaves out a few bad ones, and stops at the first cap that is exceeded."""

    def __init__(self, limits: ParsingLimits, field: str, wanted: WantedColumns, encoding: str | None) -> None:
        self.limits, self.field, self.wanted, self._encoding = limits, field, wanted, encoding
        self._text, self._label = show_columns(wanted.text), show_columns(wanted.label)
        self._wanted_names = wanted.names
        self.examples: list[Example] = []
        self.unlabelled: list[Example] = []
        self._left_out: list[tuple[int, int | None, Fault]] = []  #: number, line and fault of rows
        self._oddities: list[tuple[str, str]] = []  #: what rows have that are kept, and their places
        self._aside = Counter[str]()  #: rows that the file itself sets aside, by reason
        self._labels = Counter[str]()
        self._unused: dict[str, None] = {}
        self._num_bytes = self._num_rows = self._num_blank = self._num_without_content = 0

    def add(self, row: Row) -> None:
        """Take one row, or leave it out."""
        if row.empty:
            self._num_blank += 1
            return
        self.limits.check_rows(self._num_rows + 1, self.field)
        if row.aside is not None and row.fault is None:
            self._aside[row.aside] += 1
        elif fault := row.fault or self._take(row):
            self._left_out.append((self._num_rows, row.line, fault))
        self._num_rows += 1

    def _take(self, row: Row) -> Fault | None:
        """Keep the text of a row with its label, or say why it cannot be kept."""
        text, label = self.wanted.read_text(row.cells), self.wanted.read_label(row.cells)
        is_plain = type(text) is str and type(label) is str and text.isascii() and label.isascii()
        if not is_plain and (fault := self.wanted.find_fault(row, text, label, self._encoding)):
            return fault
        assert isinstance(text, str | None)
        if len(self._unused) < _MAX_UNUSED_KEPT:
            names = list(row.cells)[: 2 * _MAX_UNUSED_KEPT]
            self._unused |= {name[:_MAX_UNUSED_KEPT]: None for name in names if name not in self._wanted_names}
        if text is None or is_blank(text):
            self._num_without_content += isinstance(label, str | None) and is_blank(label)
            return Fault("without a text", "is blank; write a text or delete the row", self._text)
        if wrong := find_fault(text, self.limits.max_text_characters):
            return Fault(f"whose {self._text} {wrong.partition(';')[0]}", wrong, self._text)
        if not isinstance(label, str) or is_blank(label):
            self.unlabelled.append(Example(self._num_rows, text, "", row.line))
            return Fault(_NO_LABEL, "is empty; give the row a label or delete it", self._label)
        if wrong := find_fault(label, self.limits.max_label_characters):
            advice = f"{wrong}, or name another column of labels (label_column)"
            return Fault(f"whose {self._label} {wrong.partition(';')[0]}", advice, self._label)
        self._keep(Example(self._num_rows, text, label, row.line), is_doubtful=row.is_doubtful)
        return None

    def _keep(self, example: Example, *, is_doubtful: bool) -> None:
        self._num_bytes += len(example.text.encode()) + len(example.label.encode())
        if self._num_bytes > self.limits.max_bytes:
            told = f"the texts and labels take more than {self.limits.max_bytes:,} bytes; send a sample of them"
            raise DatasetTooLarge(told, field=self.field)
        self._labels[example.label] += 1
        if len(self._labels) > self.limits.max_labels:
            self._refuse_composed()
            told = f"{example.place} brings more than {self.limits.max_labels:,} different labels"
            told += f" ({show_names(list(self._labels))}); are the columns {self._text} and {self._label} swapped?"
            raise InvalidDataset(told, field=f"{self.field}.{self._label}", row=example.row)
        self.examples.append(example)
        both = f"{example.text}\n{example.label}"
        for kind, characters in () if both.isascii() else _INVISIBLE.items():
            if characters.search(both):
                self._oddities.append((f"{kind} characters, which are invisible; they are kept", example.place))
        self._oddities += [(_DOUBT, example.place)] * is_doubtful

    def _refuse_composed(self) -> None:
        """Refuse rows of several labels in one string."""
        if composed := find_composed(self._labels):
            told = f"{show_count(sum(composed.values()), 'row')} of {self._num_rows:,} have several labels, such as"
            field, shown = f"{self.field}.{self._label}", show_label(next(iter(composed)))
            raise InvalidDataset(f"{told} {shown} in column {show_label(self._label)}. {ONE_LABEL}", field=field)

    def check(self) -> None:
        """Refuse a file without content, rows of several labels, too many bad rows, and a single one that is good."""
        if not self.examples and len(self._left_out) == self._num_without_content:
            told = "no row of the dataset has a text and a label that Lens reads; give every row both, each as a text"
            raise DatasetEmpty(told, field=self.field)
        self._refuse_composed()
        number = len(self._left_out) - self.limits.skips_unlabelled * len(self.unlabelled)
        if number > _MAX_GAPS * self._num_rows:
            first, *_ = problems = tuple(self._list_problems())
            message = first.detail if number == 1 else f"{number:,} rows cannot be used; the first: {first.detail}"
            if len(self.unlabelled) > _MAX_GAPS * self._num_rows and self.examples:
                message += "; to select by the labelled rows alone, set options.rows.unlabelled to skip"
            others = tuple(self.examples)
            raise BadRows(message, field=first.field, row=first.row, problems=problems, others=others)
        if len(self.examples) < 2:
            gap = f"{self._label} is empty in {len(self.unlabelled):,} rows" * bool(self.unlabelled)
            raise DatasetEmpty(f"{gap or 'the dataset has one row only'}; selecting takes many", field=self.field)

    def _list_problems(self) -> Iterator[InputProblem]:
        """What is wrong with the first rows that are left out."""
        for row, line, (_, detail, column) in self._left_out[:MAX_SHOWN]:
            field, shown = (self.field, "") if column is None else (f"{self.field}.{column}", f": `{column}`")
            yield InputProblem(field, f"{name_place(row, line)}{shown} {detail}", row)

    def describe(self) -> Iterator[str]:
        """One sentence for each oddity that was accepted."""
        for label in filter(self._labels.__contains__, _PERHAPS_EMPTY):
            yield f"{label} is read as a label; if it marks rows without one, leave it empty"
        if self._unused:
            names = " and ".join(self.wanted.names)
            yield f"columns other than {names} are not used: {show_names(list(self._unused))}"
        if self._num_blank:
            are = "is" if self._num_blank == 1 else "are"
            yield f"{show_count(self._num_blank, 'blank row', 'was')} skipped and {are} not counted in row numbers"
        left_out = [
            (f"{fault.kind} {'kept aside' if fault.kind == _NO_LABEL else 'left out'}", name_place(row, line))
            for row, line, fault in self._left_out
        ]
        yield from _describe(left_out)
        yield from (f"{show_count(number, 'row')} {kind} left out" for kind, number in self._aside.items())
        yield from _describe(self._oddities, "has")


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row of a file of texts."""

    text: str
    """As written, but for U+FFFD in place of what no store keeps; such a row is bad. "" without a text to read."""
    fault: str | None = None  #: why the row is bad, as a sentence without its subject (the row)
    cells: bytes = field(default=b"", compare=False)  #: the values of all columns, which `ReadTexts.unpack` reads


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """The rows of a file of texts, and how the file is written."""

    rows: tuple[TextRow, ...]
    dialect: FoundDialect
    format: DatasetFormat
    num_bytes: int  #: of the rows as they are kept, with all their columns
    sha256: str  #: of the texts, and of what is wrong with them
    columns: tuple[str, ...] = ()  #: names, in the order of the cells of the rows
    text_place: int | None = None  #: index of the column of texts; None if no row has it, or several are joined
    changes: tuple[str, ...] = ()  #: a sentence about what was changed in the other columns, if anything
    text_column: ColumnNames = TEXT  #: of the texts
    notes: tuple[str, ...] = ()  #: a sentence about why this column

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each oddity that was accepted."""
        return (*self.notes, *self.dialect.notes, *self.changes)

    def part_by_labels(self, label_column: str | None) -> tuple[list[str], list[str], list[str]]:
        """The texts without a label, "" in place of a bad or a labelled row; those with one, where the file has the
        column of the labels; and a note on them."""
        columns, wanted = list(map(fold_name, self.columns)), fold_name(label_column or LABEL)
        texts, labelled = ["" if one.fault is not None else one.text for one in self.rows], list[str]()
        if wanted not in columns or (place := columns.index(wanted)) == self.text_place:
            return texts, labelled, []
        for number, row in enumerate(self.rows):
            label = self.unpack(row)[place] if texts[number] else None
            if label is not None and not is_blank(str(label)):
                labelled.append(texts[number])
                texts[number] = ""
        note = f"{show_count(len(labelled), 'row', 'has')} a label already: not offered"
        return texts, labelled, [note] if labelled else []

    def unpack(self, row: TextRow) -> list[Any]:
        """The values of a row, one for each of `columns`; None where the row has no value."""
        values: list[Any] = json.loads(row.cells) if row.cells else []
        values += [None] * (len(self.columns) - len(values))
        if self.text_place is not None and values[self.text_place] is None and row.text:
            values[self.text_place] = row.text
        return values


def collect_texts(table: Table, named: Named, limits: ParsingLimits, field: str) -> ReadTexts:
    """The texts of a table; errors as of `read_texts`."""
    choice = choose(table, named, field, has_labels=False)
    rows = _TextRows(limits, field, choice.text.wanted, table.encoding)
    for row in table.rows():
        if row.empty != "line":
            rows.add(row)
    return ReadTexts(
        tuple(rows.rows),
        table.dialect,
        table.format,
        rows.num_bytes,
        rows.digest.hexdigest(),
        tuple(rows.names),
        rows.names.get(show_columns(choice.text.wanted)),
        tuple(_describe(rows.oddities)),
        choice.text.wanted,
        tuple(choice.notes()),
    )


class _TextRows:
    """Keeps every row. A bad row does not stop the reading, so that the rows after it keep their numbers."""

    def __init__(self, limits: ParsingLimits, field: str, wanted: ColumnNames, encoding: str | None) -> None:
        self.limits, self.field, self.wanted = limits, field, WantedColumns(wanted, None)
        self.rows: list[TextRow] = []
        self.num_bytes = 0  #: of the rows as they are kept
        self.digest = hashlib.sha256()
        self.names = dict[str, int]()  #: places of the columns, in the order in which they were met
        self.oddities: list[tuple[str, str]] = []
        self._encoding, self._column = encoding, show_columns(wanted)

    def add(self, row: Row) -> None:
        """Keep a row. One too many is refused, and one whose columns cannot be kept."""
        self.limits.check_rows(len(self.rows) + 1, self.field)
        text, fault, column = self._judge(row)
        if row.is_doubtful:
            self.oddities.append((f"with {_DOUBT}", name_place(len(self.rows), row.line)))
        text = replace_unstorable(text)
        packed = self._pack(self._mend(row), text)
        if fault is not None:
            fault = fault if column is None else f"`{column}` {fault}"
            fault = fault if row.line is None else f"(line {row.line}) {fault}"
        for part in (encoded := text.encode("utf-8", "surrogatepass"), noted := (fault or "").encode()):
            self.digest.update(len(part).to_bytes(8) + part)
        self.num_bytes += len(encoded) + len(noted) + len(packed)
        if self.num_bytes > self.limits.max_kept_bytes:
            told = f"the rows take more than {self.limits.max_kept_bytes:,} bytes with all their columns, as they are"
            advice = f"kept; this was found at row {len(self.rows) + 1:,}; split the file, or leave columns out"
            raise DatasetTooLarge(f"{told} {advice}", field=self.field)
        self.rows.append(TextRow(text, fault, packed))

    def _judge(self, row: Row) -> tuple[str, str | None, str | None]:
        """The text of a row; and what is wrong with it, and with which column."""
        text = self.wanted.read_text(row.cells)
        if fault := row.fault or self.wanted.find_fault(row, text, None, self._encoding):
            return "", fault.detail, fault.column
        if not isinstance(text, str) or is_blank(text):
            return str(text or ""), "is blank; write a text", self._column
        return text, find_fault(text, self.limits.max_text_characters), self._column

    def _mend(self, row: Row) -> Mapping[str, object]:
        """The cells as they can be kept."""
        cells = row.cells
        mended = {name: replace_unstorable(cell) for name, cell in cells.items()}
        others = (name for name in mended if name != self._column)
        if any(mended[name] is not cells[name] and mended[name] != cells[name] for name in others):
            other = f"in another column than {show_label(self._column)}; U+FFFD stands in its place"
            kind = f"with NUL or half a surrogate pair {other}"
            self.oddities.append((kind, name_place(len(self.rows), row.line)))
        return mended

    def _pack(self, cells: Mapping[str, object], text: str) -> bytes:
        """The values of a row, in the order of `names`; b"" if only the text is left out."""
        for name in cells:
            if name and name not in self.names:  # spreadsheets write an empty name for each empty column
                self._add_column(name)
        values = [_show(cells.get(name)) for name in self.names]
        if text and self._column in self.names and cells.get(self._column) == text:
            values[self.names[self._column]] = None
        while values and values[-1] is None:
            values.pop()
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() if values else b""

    def _add_column(self, name: str) -> None:
        shown, most, longest = show_label(name), self.limits.max_columns, self.limits.max_column_characters
        if UNSTORABLE.search(name):
            told = f"the column {shown} has NUL or half a surrogate pair in its name; rename the column"
            raise InvalidDataset(told, field=self.field)
        if len(name) > longest:
            told = f"the name of column {len(self.names) + 1:,} ({shown}) has {len(name):,} characters"
            advice = f"and at most {longest:,} are allowed; shorten it, or leave the column out"
            raise InvalidDataset(f"{told}, {advice}", field=self.field)
        if len(self.names) == most:
            told = f"the file has more than {most:,} columns, and the output has all of them; leave some out"
            raise DatasetTooLarge(told, field=self.field)
        self.names[name] = len(self.names)


def _show(cell: object) -> object:
    """A value that every format can hold."""
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return cell if isinstance(cell, str | int | float | None) else str(cell)

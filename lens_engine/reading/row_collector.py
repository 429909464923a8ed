"""The row collector: every row of every shape passes its checks."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_choice import ColumnChoice, Named, choose
from lens_engine.reading.column_profiles import refuse_several
from lens_engine.reading.columns import ColumnNames, WantedColumns
from lens_engine.reading.dialect import FoundDialect
from lens_engine.reading.errors import BadRows, DatasetEmpty, DatasetTooLarge, refuse_more_rows
from lens_engine.reading.left_out import NO_LABEL, LeftOut
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.table import DatasetFormat, Fault, Row, Table
from lens_engine.reading.values import Several, find_value_fault, read_label, read_text, show_columns
from lens_engine.rows.problem import digest_examples
from lens_engine.task.text_checks import BIDI_CONTROLS, MAX_SHOWN, ZERO_WIDTH, find_fault, is_blank, show_names
from lens_engine.task.wording import show_count
from lens_engine.types import Example

_MAX_UNUSED_KEPT = 100
"""Largest number of unused column names kept, and of characters of each, because a file may have any number."""

_MAX_GAPS = 0.1
"""Largest share of rows that are left out; if there are more, something else is wrong."""

_UNLABELLED = "-1"
"""What tools write for no label, beside classes that are counted from 0."""
_INVISIBLE = {"bidirectional control": BIDI_CONTROLS, "zero-width": ZERO_WIDTH}


@dataclass(frozen=True, slots=True)
class ParsedDataset:
    """The labelled texts of one upload, exactly as written."""

    examples: tuple[Example, ...]  #: at least two; `row` counts data rows from 0, blank ones left out
    format: DatasetFormat
    sha256: str  #: of the (text, label) rows in order; equal rows have equal digests in every format
    warnings: tuple[str, ...]  #: one sentence for each oddity that was accepted
    columns: tuple[ColumnNames, ColumnNames]  #: of the texts and the labels
    dialect: FoundDialect | None = None  #: how the file is written; None for rows that were in no file
    unlabelled: tuple[Example, ...] = ()  #: rows with a text and no label, whose `label` is ""
    choice: ColumnChoice | None = None  #: why these columns


def collect_rows(table: Table, named: Named, limits: ParsingLimits, field: str) -> ParsedDataset:
    """The labelled texts of a table.

    Raises:
        DatasetTooLarge: the cap on rows or bytes is exceeded.
        DatasetEmpty: fewer than two rows were kept.
        BadRows: more than a tenth of the rows cannot be used; `problems` lists the first.
        InvalidDataset: the columns cannot be found, the cap on labels is exceeded, rows have several labels, or the
            file cannot be read to its end.
    """
    choice = choose(table, named, field)
    assert choice.label is not None
    wanted = WantedColumns(choice.text.wanted, choice.label.wanted)
    rows = _RowCollector(limits, field, wanted, table.encoding)
    for row in table.rows():
        rows.add(row)
    rows.check()
    notes = (*choice.notes(), *table.dialect.notes, *rows.set_minus_aside())
    rows.refuse_gaps()
    return ParsedDataset(
        tuple(rows.examples),
        table.format,
        digest_examples(rows.examples),
        (*notes, *rows.describe()),
        (wanted.text, choice.label.wanted),
        None if table.format == "inline" else table.dialect,
        tuple(rows.unlabelled),
        choice,
    )


class _RowCollector:
    """Keeps the good rows, leaves out a few bad ones, and stops at the first cap that is exceeded."""

    def __init__(self, limits: ParsingLimits, field: str, wanted: WantedColumns, encoding: str | None) -> None:
        self.limits, self.field, self.wanted, self._encoding = limits, field, wanted, encoding
        self._text, self._label = show_columns(wanted.text), show_columns(wanted.label)
        self.examples: list[Example] = []
        self.unlabelled: list[Example] = []
        self._left_out = LeftOut(field)
        self._aside = Counter[str]()  #: rows that the file itself sets aside, by reason
        self._labels = Counter[str]()
        self._several = Counter[tuple[str, ...]]()
        self._unused: dict[str, None] = {}
        self._num_bytes = self._num_rows = self._num_blank = self._num_without_content = 0
        self._invisible_rows: dict[str, list[int]] = {kind: [] for kind in _INVISIBLE}

    def add(self, row: Row) -> None:
        """Take one row, or leave it out."""
        if row.empty:
            self._num_blank += 1
            if self._num_blank > self.limits.max_rows:
                raise DatasetTooLarge(f"more than {self.limits.max_rows:,} lines are blank", field=self.field)
            return
        if self._num_rows >= self.limits.max_rows:
            refuse_more_rows(self.limits.max_rows, self.field)
        if row.fault is not None:
            self._leave_out(row.fault, row.line)
        elif row.aside is not None:
            self._aside[row.aside] += 1
        else:
            self._take_cells(row)
        self._num_rows += 1

    def _take_cells(self, row: Row) -> None:
        cells, wanted = row.cells, self.wanted
        text, label = read_text(cells, wanted.text), read_label(cells, wanted.label or "")
        if not (type(text) is str and type(label) is str and text.isascii() and label.isascii()):
            fault = find_value_fault(cells, text, label, wanted, self._encoding)
            if fault is not None:
                self._leave_out(fault, row.line)
                return
        if len(self._unused) < _MAX_UNUSED_KEPT:
            names = [name for name in list(cells)[: 2 * _MAX_UNUSED_KEPT] if name not in wanted.names]
            self._unused.update(dict.fromkeys(name[:_MAX_UNUSED_KEPT] for name in names[:_MAX_UNUSED_KEPT]))
        assert isinstance(text, str | None)
        if text is None or is_blank(text):
            self._num_without_content += isinstance(label, str | None) and is_blank(label)
            fault = Fault("without a text", "is blank; write a text or delete the row", self._text)
            self._leave_out(fault, row.line)
        elif wrong := find_fault(text, self.limits.max_text_characters):
            self._refuse_value(wrong, self._text, row.line)
        elif isinstance(label, Several):
            self._several[label.labels] += 1
        elif not isinstance(label, str) or is_blank(label):
            self._set_aside(Example(self._num_rows, text, "", row.line))
        elif wrong := find_fault(label, self.limits.max_label_characters):
            advice = f"{wrong}, or name another column of labels (label_column)"
            self._refuse_value(advice, self._label, row.line)
        else:
            self._keep(Example(self._num_rows, text, label, row.line))

    def _leave_out(self, fault: Fault, line: int | None) -> None:
        self._left_out.add(fault, self._num_rows, line)

    def _refuse_value(self, wrong: str, column: str, line: int | None) -> None:
        self._leave_out(Fault(f"whose {column} {wrong.partition(';')[0]}", wrong, column), line)

    def _set_aside(self, example: Example) -> None:
        self.unlabelled.append(example)
        fault = Fault(NO_LABEL, "is empty; give the row a label or delete it", self._label)
        self._left_out.add(fault, example.row, example.line)

    def _keep(self, example: Example) -> None:
        self._num_bytes += len(example.text.encode()) + len(example.label.encode())
        if self._num_bytes > self.limits.max_bytes:
            raise DatasetTooLarge(
                f"the texts and labels take more than {self.limits.max_bytes:,} bytes; send a sample of them",
                field=self.field,
            )
        self._labels[example.label] += 1
        if len(self._labels) > self.limits.max_labels:
            self._refuse_labels(example)
        self.examples.append(example)
        both = f"{example.text}\n{example.label}"
        if not both.isascii():
            for kind, characters in _INVISIBLE.items():
                if characters.search(both):
                    self._invisible_rows[kind].append(example.row)

    def _refuse_labels(self, example: Example) -> Never:
        self._refuse_several()
        detail = (
            f"{example.place} brings more than {self.limits.max_labels:,} different labels "
            f"({show_names(list(self._labels))}); are the columns {self._text} and {self._label} swapped?"
        )
        raise InvalidDataset(detail, field=f"{self.field}.{self._label}", row=example.row)

    def _refuse_several(self) -> None:
        field = f"{self.field}.{self._label}"
        refuse_several(self._label, self._labels, self._several, self._num_rows, field)

    def check(self) -> None:
        """
        Raises:
            DatasetEmpty: no row has content.
            InvalidDataset: rows have several labels.
        """
        if not self.examples and not self._several and self._left_out.number == self._num_without_content:
            raise DatasetEmpty(
                "the dataset has no rows with content; give every row a text and a label", field=self.field
            )
        self._refuse_several()

    def set_minus_aside(self) -> tuple[str, ...]:
        """Set rows of the label -1 aside, where it means no label; the note says so, or that it may mean it."""
        others = [label for label in self._labels if label != _UNLABELLED]
        if _UNLABELLED not in self._labels or not others or any(label.startswith("-") for label in others):
            return ()
        if not self.limits.skips_unlabelled and set(others) <= {"0", "1"}:
            note = "-1 is read as a label; if it marks rows without one, set options.rows.unlabelled to skip"
            return (note,)
        for example in self.examples:
            if example.label == _UNLABELLED:
                self._set_aside(replace(example, label=""))
        self.examples = [example for example in self.examples if example.label != _UNLABELLED]
        return ("the label -1 is read as no label",)

    def refuse_gaps(self) -> None:
        """
        Raises:
            BadRows: too many rows are left out.
            DatasetEmpty: one row is left.
        """
        number = self._left_out.number - self.limits.skips_unlabelled * len(self.unlabelled)
        if number > _MAX_GAPS * self._num_rows:
            problems = tuple(self._left_out.problems)
            message = first = problems[0].detail
            if number > 1:
                message = f"{number:,} rows cannot be used; the first: {first}"
            if len(self.unlabelled) > _MAX_GAPS * self._num_rows and self.examples:
                message += "; to select by the labelled rows alone, set options.rows.unlabelled to skip"
            others = tuple(self.examples)
            raise BadRows(message, field=problems[0].field, row=problems[0].row, problems=problems, others=others)
        if len(self.examples) < 2:
            raise DatasetEmpty("the dataset has one row only; selecting examples takes many", field=self.field)

    def describe(self) -> Iterator[str]:
        """One sentence for each oddity that was accepted."""
        if self._unused:
            names = " and ".join(self.wanted.names)
            yield f"columns other than {names} are not used: {show_names(list(self._unused))}"
        if self._num_blank:
            are = "is" if self._num_blank == 1 else "are"
            yield f"{show_count(self._num_blank, 'blank row', 'was')} skipped and {are} not counted in row numbers"
        yield from self._left_out.describe()
        yield from (f"{show_count(number, 'row')} {kind} left out" for kind, number in self._aside.items())
        for kind, rows in self._invisible_rows.items():
            if rows:
                hold = "holds" if len(rows) == 1 else "hold"
                first = ", ".join(map(str, rows[:MAX_SHOWN]))
                yield (
                    f"{show_count(len(rows), 'row')} {hold} {kind} characters, which are invisible; they are kept "
                    f"(first rows: {first})"
                )

"""The row collector: every row of every shape passes its checks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Never

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.reading.columns import WantedColumns, describe_unused
from lens_engine.reading.dialect import FoundDialect, show_encoding
from lens_engine.reading.errors import BadRows, DatasetEmpty, DatasetTooLarge
from lens_engine.reading.left_out import describe_fault, describe_invisible, list_first
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.parsed_dataset import ParsedDataset
from lens_engine.reading.several_labels import find_lists, refuse_lists
from lens_engine.reading.table import DatasetFormat, Fault, Row, Table
from lens_engine.reading.values import Several, find_faults, read_label, read_text, show_columns
from lens_engine.rows.problem import digest_examples
from lens_engine.task.text_checks import BIDI_CONTROLS, MAX_SHOWN, ZERO_WIDTH, find_fault, is_blank, show_names
from lens_engine.task.wording import show_count
from lens_engine.types import Example

_MAX_UNUSED_KEPT = 100
"""Largest number of unused column names kept, and of characters of each, because a file may have any number."""

_MAX_GAPS = 0.1
"""Largest share of rows that are left out; if there are more, something else is wrong."""

_NO_TEXT = Fault("without a text", "is blank; write a text or delete the row")
_NO_LABEL = Fault("without a label", "is empty; give the row a label or delete it")
_UNLABELLED = "-1"
"""What tools write for no label, beside classes that are counted from 0."""
_INVISIBLE = {"bidirectional control": BIDI_CONTROLS, "zero-width": ZERO_WIDTH}


class RowCollector:
    """Keeps the good rows, leaves out a few bad ones, and stops at the first cap that is exceeded."""

    def __init__(
        self, limits: ParsingLimits, field: str, wanted: WantedColumns, dialect: FoundDialect | None = None
    ) -> None:
        self.limits, self.field, self.wanted = limits, field, wanted
        self._text, self._label = show_columns(wanted.text), show_columns(wanted.label)
        self._encoding = None if dialect is None else show_encoding(dialect.encoding)
        self._examples: list[Example] = []
        self._unlabelled: list[Example] = []
        self._problems: list[InputProblem] = []  #: the first bad rows
        self._places: dict[str, list[str]] = {}  #: the first rows that were left out, by kind
        self._left_out = Counter[str]()  #: rows, by kind
        self._aside = Counter[str]()  #: rows that the file itself sets aside, by reason
        self._labels = Counter[str]()
        self._several = Counter[tuple[str, ...]]()
        self._unused: dict[str, None] = {}
        self._num_bytes = self._num_rows = self._num_blank = self._num_without_content = 0
        self._invisible_rows: dict[str, list[int]] = {kind: [] for kind in _INVISIBLE}

    def take(self, table: Table) -> None:
        """Take every row of a table.

        Raises:
            DatasetTooLarge: the cap on rows or bytes is exceeded.
            InvalidDataset: the cap on labels is exceeded, or the file cannot be read to its end.
        """
        self._encoding = self._encoding if table.has_raw_bytes else None
        for row in table.rows():
            self.add(row)

    def add(self, row: Row) -> None:
        """Take one row, or leave it out."""
        if row.empty:
            self._num_blank += 1
            if self._num_blank > self.limits.max_rows:
                raise DatasetTooLarge(f"more than {self.limits.max_rows:,} lines are blank", field=self.field)
            return
        if self._num_rows >= self.limits.max_rows:
            raise DatasetTooLarge(
                f"the dataset has more than {self.limits.max_rows:,} rows; send a sample of it", field=self.field
            )
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
            for fault in find_faults(cells, text, label, wanted, self._encoding):
                self._leave_out(fault, row.line)
                return
        if len(self._unused) < _MAX_UNUSED_KEPT:
            names = [name for name in list(cells)[: 2 * _MAX_UNUSED_KEPT] if name not in wanted.names]
            self._unused.update(dict.fromkeys(name[:_MAX_UNUSED_KEPT] for name in names[:_MAX_UNUSED_KEPT]))
        assert isinstance(text, str | None)
        if text is None or is_blank(text):
            self._num_without_content += is_blank(label) if isinstance(label, str | None) else 0
            self._leave_out(_NO_TEXT._replace(column=self._text), row.line)
        elif wrong := find_fault(text, self.limits.max_text_characters):
            self._leave_out(describe_fault(wrong, self._text), row.line)
        elif isinstance(label, Several):
            self._several[label.labels] += 1
        elif not isinstance(label, str) or is_blank(label):
            self._set_aside(Example(self._num_rows, text, "", row.line))
        elif wrong := find_fault(label, self.limits.max_label_characters):
            advice = f"{wrong}, or name another column of labels (label_column)"
            self._leave_out(describe_fault(advice, self._label), row.line)
        else:
            self._keep(Example(self._num_rows, text, label, row.line))

    def _set_aside(self, example: Example) -> None:
        self._unlabelled.append(example)
        self._leave_out(_NO_LABEL._replace(column=self._label), example.line, example.row)

    def _leave_out(self, fault: Fault, line: int | None, row: int | None = None) -> None:
        row = self._num_rows if row is None else row
        place = Example(row, "", "", line).place
        if len(self._problems) < MAX_SHOWN or row < (self._problems[-1].row or 0):
            detail = f"{place} {fault.detail}" if fault.column is None else f"{place}: `{fault.column}` {fault.detail}"
            field = self.field if fault.column is None else f"{self.field}.{fault.column}"
            self._problems = sorted([*self._problems, InputProblem(field, detail, row)], key=lambda one: one.row or 0)[
                :MAX_SHOWN
            ]
        places = self._places.setdefault(fault.kind, [])
        if len(places) < MAX_SHOWN:
            places.append(f"row {row}" if line is None else f"line {line}")
        self._left_out[fault.kind] += 1

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
        self._examples.append(example)
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
        """
        Raises:
            InvalidDataset: rows have several labels.
        """
        found = self._several or find_lists(self._labels)
        refuse_lists(self._label, found, self._num_rows, f"{self.field}.{self._label}")

    def finish(
        self, format: DatasetFormat, notes: Sequence[str] = (), dialect: FoundDialect | None = None
    ) -> ParsedDataset:
        """The dataset.

        Args:
            notes: what to say of its columns.
            dialect: how its file is written.

        Raises:
            DatasetEmpty: fewer than two rows were kept.
            BadRows: more than a tenth of the rows cannot be used; `problems` lists the first.
            InvalidDataset: rows have several labels.
        """
        if not self._examples and not self._several and self._left_out.total() == self._num_without_content:
            raise DatasetEmpty(
                "the dataset has no rows with content; give every row a text and a label", field=self.field
            )
        self._refuse_several()
        minus = self._set_minus_aside()
        self._refuse_rows()
        if len(self._examples) < 2:
            raise DatasetEmpty("the dataset has one row only; selecting examples takes many", field=self.field)
        said = () if dialect is None else dialect.notes
        return ParsedDataset(
            tuple(self._examples),
            format,
            digest_examples(self._examples),
            (*notes, *said, *minus, *self._warnings()),
            (self.wanted.text, self.wanted.label or ""),
            dialect,
            tuple(self._unlabelled),
        )

    def _set_minus_aside(self) -> tuple[str, ...]:
        """Set rows of the label -1 aside, where it means no label; the note says so, or that it may mean it."""
        others = [label for label in self._labels if label != _UNLABELLED]
        if _UNLABELLED not in self._labels or not others or any(label.startswith("-") for label in others):
            return ()
        if not self.limits.skips_unlabelled and set(others) <= {"0", "1"}:
            note = "-1 is read as a label; if it marks rows without one, set options.rows.unlabelled to skip"
            return (note,)
        for example in self._examples:
            if example.label == _UNLABELLED:
                self._set_aside(replace(example, label=""))
        self._examples = [example for example in self._examples if example.label != _UNLABELLED]
        return ("the label -1 is read as no label",)

    def _refuse_rows(self) -> None:
        """
        Raises:
            BadRows: too many rows are left out.
        """
        number = self._left_out.total() - self.limits.skips_unlabelled * len(self._unlabelled)
        if number <= _MAX_GAPS * self._num_rows:
            return
        problems = self._problems
        message = first = problems[0].detail
        if number > 1:
            message = f"{number:,} rows cannot be used; the first: {first}"
        if len(self._unlabelled) > _MAX_GAPS * self._num_rows and self._examples:
            message += "; to select by the labelled rows alone, set options.rows.unlabelled to skip"
        others = tuple(self._examples)
        raise BadRows(message, field=problems[0].field, row=problems[0].row, problems=tuple(problems), others=others)

    def _warnings(self) -> tuple[str, ...]:
        found = list[str]()
        if self._unused:
            found.append(describe_unused(list(self._unused), self.wanted))
        if self._num_blank:
            are = "is" if self._num_blank == 1 else "are"
            found.append(
                f"{show_count(self._num_blank, 'blank row', 'was')} skipped and {are} not counted in row numbers"
            )
        for kind, number in self._left_out.items():
            done = "kept aside" if kind == _NO_LABEL.kind else "left out"
            found.append(f"{show_count(number, 'row')} {kind} {done} ({list_first(self._places[kind], number)})")
        found += [f"{show_count(number, 'row')} {kind} left out" for kind, number in self._aside.items()]
        found += [describe_invisible(kind, rows) for kind, rows in self._invisible_rows.items() if rows]
        return tuple(found)

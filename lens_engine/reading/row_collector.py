"""The row collector: every row of every shape passes its checks."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.reading.column_choice import Named, choose
from lens_engine.reading.column_guess import ColumnChoice
from lens_engine.reading.column_profiles import refuse_several
from lens_engine.reading.dialect import FoundDialect
from lens_engine.reading.limits import BadRows, DatasetEmpty, DatasetTooLarge, ParsingLimits
from lens_engine.reading.places import DOUBT, Places
from lens_engine.reading.table import (
    ColumnNames,
    DatasetFormat,
    Fault,
    Row,
    Several,
    Table,
    WantedColumns,
    show_columns,
)
from lens_engine.rows.problem import digest_examples
from lens_engine.task.text_checks import (
    BIDI_CONTROLS,
    MAX_SHOWN,
    ZERO_WIDTH,
    find_fault,
    is_blank,
    show_names,
)
from lens_engine.task.wording import show_count
from lens_engine.types import Example, name_place

_MAX_UNUSED_KEPT = 100
"""Largest number of unused column names kept, and of characters of each, because a file may have any number."""
_MAX_GAPS = 0.1  #: largest share of rows that are left out; if there are more, something else is wrong
_NO_LABEL = "without a label"  #: the kind of rows that are not lost: they have a text to classify
_UNLABELLED = "-1"  #: what tools write for no label
_PERHAPS_EMPTY = ("NA", "N/A", "NaN", "nan", "NULL", "null", "\\N")
"""What databases, and programs for tables of numbers, write for no value."""
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
    """The labelled texts of a table; errors as of `parse_dataset`."""
    choice = choose(table, named, field)
    assert choice.label is not None
    wanted = WantedColumns(choice.text.wanted, choice.label.wanted)
    rows = _RowCollector(limits, field, wanted, table.encoding)
    for row in table.rows():
        rows.add(row)
    rows.check()
    notes = (*choice.notes(), *table.dialect.notes, *rows.judge_missing_labels())
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
        self._wanted_names = wanted.names
        self.examples: list[Example] = []
        self.unlabelled: list[Example] = []
        self._problems: list[InputProblem] = []  #: of the first rows that are left out, in order
        self._left_out, self._doubtful, self._invisible = Places(), Places(), Places()
        self._aside = Counter[str]()  #: rows that the file itself sets aside, by reason
        self._labels = Counter[str]()
        self._several = Counter[tuple[str, ...]]()
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
        elif fault := row.fault or self._take_cells(row):
            self._leave_out(fault, self._num_rows, row.line)
        self._num_rows += 1

    def _take_cells(self, row: Row) -> Fault | None:
        text, label = self.wanted.read_text(row.cells), self.wanted.read_label(row.cells)
        is_plain = type(text) is str and type(label) is str and text.isascii() and label.isascii()
        if not is_plain and (fault := self.wanted.find_fault(row, text, label, self._encoding)):
            return fault
        if len(self._unused) < _MAX_UNUSED_KEPT:
            names = list(row.cells)[: 2 * _MAX_UNUSED_KEPT]
            self._unused |= {name[:_MAX_UNUSED_KEPT]: None for name in names if name not in self._wanted_names}
        fault = self._take(text, label, row.line)
        if row.is_doubtful and fault is None:
            self._doubtful.add(DOUBT, name_place(self._num_rows, row.line))
        return fault

    def _take(self, text: object, label: object, line: int | None) -> Fault | None:
        """Keep a text with its label, or say why it cannot be kept."""
        assert isinstance(text, str | None)
        if text is None or is_blank(text):
            self._num_without_content += isinstance(label, str | None) and is_blank(label)
            return Fault("without a text", "is blank; write a text or delete the row", self._text)
        if wrong := find_fault(text, self.limits.max_text_characters):
            return Fault(f"whose {self._text} {wrong.partition(';')[0]}", wrong, self._text)
        if isinstance(label, Several):
            self._several[label.labels] += 1
        elif not isinstance(label, str) or is_blank(label):
            self._set_aside(Example(self._num_rows, text, "", line))
        elif wrong := find_fault(label, self.limits.max_label_characters):
            advice = f"{wrong}, or name another column of labels (label_column)"
            return Fault(f"whose {self._label} {wrong.partition(';')[0]}", advice, self._label)
        else:
            self._keep(Example(self._num_rows, text, label, line))
        return None

    def _leave_out(self, fault: Fault, row: int, line: int | None) -> None:
        place = name_place(row, line)
        if len(self._problems) < MAX_SHOWN or row < (self._problems[-1].row or 0):
            column = "" if fault.column is None else f": `{fault.column}`"
            field = self.field if fault.column is None else f"{self.field}.{fault.column}"
            problems = [*self._problems, InputProblem(field, f"{place}{column} {fault.detail}", row)]
            self._problems = sorted(problems, key=lambda one: one.row or 0)[:MAX_SHOWN]
        self._left_out.add(f"{fault.kind} {'kept aside' if fault.kind == _NO_LABEL else 'left out'}", place)

    def _set_aside(self, example: Example, label: str = "") -> None:
        self.unlabelled.append(example)
        what = f"is {label}, which is read as no label" if label else "is empty"
        fault = Fault(_NO_LABEL, f"{what}; give the row a label or delete it", self._label)
        self._leave_out(fault, example.row, example.line)

    def _keep(self, example: Example) -> None:
        self._num_bytes += len(example.text.encode()) + len(example.label.encode())
        if self._num_bytes > self.limits.max_bytes:
            raise DatasetTooLarge(
                f"the texts and labels take more than {self.limits.max_bytes:,} bytes; send a sample of them",
                field=self.field,
            )
        self._labels[example.label] += 1
        if len(self._labels) > self.limits.max_labels:
            self._refuse_several()
            detail = (
                f"{example.place} brings more than {self.limits.max_labels:,} different labels "
                f"({show_names(list(self._labels))}); are the columns {self._text} and {self._label} swapped?"
            )
            raise InvalidDataset(detail, field=f"{self.field}.{self._label}", row=example.row)
        self.examples.append(example)
        both = f"{example.text}\n{example.label}"
        for kind, characters in () if both.isascii() else _INVISIBLE.items():
            if characters.search(both):
                self._invisible.add(f"{kind} characters, which are invisible; they are kept", example.place)

    def _refuse_several(self) -> None:
        refuse_several(self._label, self._labels, self._several, self._num_rows, f"{self.field}.{self._label}")

    def check(self) -> None:
        """Refuse a file without content, and rows of several labels."""
        if not (self.examples or self._several) and self._left_out.numbers.total() == self._num_without_content:
            told = "the dataset has no rows with content; give every row a text and a label"
            raise DatasetEmpty(told, field=self.field)
        self._refuse_several()

    def judge_missing_labels(self) -> tuple[str, ...]:
        """Set rows of the label -1 aside, where it means no label; a note says so, or which label may mean it."""
        perhaps = [label for label in _PERHAPS_EMPTY if label in self._labels]
        notes = [f"{label} is read as a label; if it marks rows without one, leave it empty" for label in perhaps]
        return (*self._set_minus_aside(), *notes)

    def _set_minus_aside(self) -> tuple[str, ...]:
        others = [label for label in self._labels if label != _UNLABELLED]
        if _UNLABELLED not in self._labels or not others or any(label.startswith("-") for label in others):
            return ()
        if set(others) <= {"0", "1", "+1"}:
            return ("-1 is read as a label; if it marks rows without one, leave it empty",)
        for example in self.examples:
            if example.label == _UNLABELLED:
                self._set_aside(replace(example, label=""), _UNLABELLED)
        self.examples = [example for example in self.examples if example.label != _UNLABELLED]
        return ("the label -1 is read as no label",)

    def refuse_gaps(self) -> None:
        """Refuse too many rows that are left out, and a single one that is left."""
        number = self._left_out.numbers.total() - self.limits.skips_unlabelled * len(self.unlabelled)
        if number > _MAX_GAPS * self._num_rows:
            first, *_ = problems = tuple(self._problems)
            message = first.detail if number == 1 else f"{number:,} rows cannot be used; the first: {first.detail}"
            if len(self.unlabelled) > _MAX_GAPS * self._num_rows and self.examples:
                message += "; to select by the labelled rows alone, set options.rows.unlabelled to skip"
            others = tuple(self.examples)
            raise BadRows(message, field=first.field, row=first.row, problems=problems, others=others)
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
        yield from self._doubtful.describe("has")
        yield from self._left_out.describe()
        yield from (f"{show_count(number, 'row')} {kind} left out" for kind, number in self._aside.items())
        yield from self._invisible.describe("has")

"""The row collector: every row of every format passes its checks."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Never

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.reading.columns import WantedColumns, describe_unused
from lens_engine.reading.dialect import FoundDialect
from lens_engine.reading.errors import BadRows, DatasetEmpty, DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.parsed_dataset import DatasetFormat, ParsedDataset
from lens_engine.reading.row_sink import NO_CELLS, RowSink
from lens_engine.rows.problem import example_bytes
from lens_engine.task.text_checks import (
    BIDI_CONTROLS,
    MAX_SHOWN,
    ZERO_WIDTH,
    find_fault,
    is_blank,
    show_names,
)
from lens_engine.task.wording import show_count
from lens_engine.types import Example

_MAX_UNUSED_KEPT = 100
"""Largest number of unused column names kept, and of characters of each, because a file may have any number."""

_MAX_GAPS = 0.1
"""Largest share of rows without a text or a label that are left out; if there are more, something else is wrong."""

_INVISIBLE = {"bidirectional control": BIDI_CONTROLS, "zero-width": ZERO_WIDTH}


class RowCollector(RowSink):
    """Keeps the good rows, notes the bad rows, and stops at the first cap that is exceeded."""

    keeps_bad_rows = keeps_cells = False

    def __init__(self, limits: ParsingLimits, field: str, text_column: str, label_column: str) -> None:
        super().__init__(limits, field, WantedColumns(text_column, label_column))
        self._text, self._label = text_column, label_column
        self._examples: list[Example] = []
        self._problems: list[InputProblem] = []
        self._labels: dict[str, None] = {}
        self._unused: dict[str, None] = {}
        self._digest = hashlib.sha256()
        self._num_bytes = 0
        self._num_bad = self._num_without_content = 0
        self._left_out = Counter[str]()  #: rows without a text, and without a label, by column
        self._gaps: list[InputProblem] = []  #: the first of these rows
        self._gap_places: dict[str, list[str]] = {text_column: [], label_column: []}
        self._invisible_rows: dict[str, list[int]] = {kind: [] for kind in _INVISIBLE}

    @property
    def next_row(self) -> int:
        return len(self._examples) + self._num_bad + self._left_out.total()

    def add(
        self,
        text: str | None,
        label: str | None,
        *,
        line: int | None = None,
        cells: Mapping[str, object] = NO_CELLS,  # noqa: ARG002
    ) -> None:
        has_text, has_label = not is_blank(text), not is_blank(label)
        if text is None or not has_text:
            self._num_without_content += not has_label
            self._leave_out(self._text, "is blank; write a text or delete the row", line)
        elif label is None or not has_label:
            self._leave_out(self._label, "is empty; give the row a label or delete it", line)
        elif fault := find_fault(text, self.limits.max_text_characters):
            self.note(self._text, fault, line=line)
        elif fault := find_fault(label, self.limits.max_label_characters):
            self.note(self._label, f"{fault}, or name another column of labels (label_column)", line=line)
        else:
            self._keep(Example(self.next_row, text, label, line))

    def note(self, column: str | None, fault: str, *, line: int | None = None) -> None:
        self.refuse_if_full()
        if len(self._problems) < MAX_SHOWN:
            self._problems.append(self._problem(column, fault, line))
        self._num_bad += 1

    def _leave_out(self, column: str, fault: str, line: int | None) -> None:
        """Leave out a row without a text or a label; `finish` refuses too many."""
        self.refuse_if_full()
        if len(self._gaps) < MAX_SHOWN:
            self._gaps.append(self._problem(column, fault, line))
        if len(self._gap_places[column]) < MAX_SHOWN:
            self._gap_places[column].append(f"row {self.next_row}" if line is None else f"line {line}")
        self._left_out[column] += 1

    def _problem(self, column: str | None, fault: str, line: int | None) -> InputProblem:
        place = self.place(line)
        detail = f"{place} {fault}" if column is None else f"{place}: `{column}` {fault}"
        return InputProblem(self.field if column is None else f"{self.field}.{column}", detail, self.next_row)

    def stop(self, fault: str, *, line: int | None = None) -> Never:
        self.note(None, fault, line=line)
        self._refuse_rows(is_whole=False)

    def skip_columns(self, names: Sequence[str]) -> None:
        if len(self._unused) < _MAX_UNUSED_KEPT:
            self._unused.update(dict.fromkeys(name[:_MAX_UNUSED_KEPT] for name in names[:_MAX_UNUSED_KEPT]))

    def finish(
        self, dataset_format: DatasetFormat, notes: Sequence[str] = (), dialect: FoundDialect | None = None
    ) -> ParsedDataset:
        """The dataset.

        Args:
            notes: what to say of its columns.
            dialect: how its file is written.

        Raises:
            DatasetEmpty: fewer than two rows were kept.
            BadRows: rows are bad, or more than a tenth has no text or no label; `problems` lists the first.
        """
        if not self._examples and self._num_bad + self._left_out.total() == self._num_without_content:
            raise DatasetEmpty(
                "the dataset has no rows with content; give every row a text and a label", field=self.field
            )
        if self._problems or self._has_many_gaps:
            self._refuse_rows(is_whole=True)
        if len(self._examples) == 1:
            raise DatasetEmpty("the dataset has one row only; selecting examples takes many", field=self.field)
        return ParsedDataset(
            tuple(self._examples),
            dataset_format,
            self._digest.hexdigest(),
            (*notes, *(() if dialect is None else dialect.notes), *self._warnings()),
            (self._text, self._label),
            dialect,
        )

    def _keep(self, example: Example) -> None:
        self.refuse_if_full()
        self._count_bytes(example)
        self._count_label(example)
        self._examples.append(example)
        self._digest.update(example_bytes(example))
        both = f"{example.text}\n{example.label}"
        if not both.isascii():
            for kind, characters in _INVISIBLE.items():
                if characters.search(both):
                    self._invisible_rows[kind].append(example.row)

    def _count_bytes(self, example: Example) -> None:
        self._num_bytes += len(example.text.encode()) + len(example.label.encode())
        if self._num_bytes > self.limits.max_bytes:
            raise DatasetTooLarge(
                f"the texts and labels take more than {self.limits.max_bytes:,} bytes; send a sample of them",
                field=self.field,
            )

    def _count_label(self, example: Example) -> None:
        self._labels[example.label] = None
        if len(self._labels) > self.limits.max_labels:
            detail = (
                f"{example.place} brings more than {self.limits.max_labels:,} different labels "
                f"({show_names(list(self._labels))}); are the columns {self._text} and {self._label} swapped?"
            )
            raise InvalidDataset(detail, field=f"{self.field}.{self._label}", row=example.row)

    def _refuse_rows(self, *, is_whole: bool) -> Never:
        """Refuse the bad rows; `is_whole`: the file was read to its end."""
        problems, number = self._problems, self._num_bad
        if self._has_many_gaps:
            problems = sorted([*problems, *self._gaps], key=lambda one: one.row or 0)[:MAX_SHOWN]
            number += self._left_out.total()
        first = problems[0]
        message = first.detail
        if number > 1:
            message = f"{number:,} rows cannot be used; the first: {first.detail}"
        others = tuple(self._examples) if is_whole else ()
        raise BadRows(message, field=first.field, row=first.row, problems=tuple(problems), others=others)

    @property
    def _has_many_gaps(self) -> bool:
        return self._left_out.total() > _MAX_GAPS * self.next_row

    def _warnings(self) -> tuple[str, ...]:
        found = list[str]()
        if self._unused:
            found.append(describe_unused(list(self._unused), self.columns))
        if self.num_blank:
            are = "is" if self.num_blank == 1 else "are"
            found.append(
                f"{show_count(self.num_blank, 'blank row', 'was')} skipped and {are} not counted in row numbers"
            )
        for column, number in self._left_out.items():
            what, first = "text" if column == self._text else "label", _list_first(self._gap_places[column], number)
            found.append(f"{show_count(number, 'row')} without a {what} left out ({first})")
        found += [_describe_invisible(kind, rows) for kind, rows in self._invisible_rows.items() if rows]
        return tuple(found)


def _list_first(places: Sequence[str], number: int) -> str:
    more = f" and {number - len(places):,} more" if number > len(places) else ""
    return ", ".join(places) + more


def _describe_invisible(kind: str, rows: Sequence[int]) -> str:
    first = ", ".join(map(str, rows[:MAX_SHOWN]))
    hold = "holds" if len(rows) == 1 else "hold"
    return (
        f"{show_count(len(rows), 'row')} {hold} {kind} characters, which are invisible; they are kept "
        f"(first rows: {first})"
    )

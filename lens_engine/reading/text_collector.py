"""The text collector: keeps every row of a file without labels, the bad ones with what is wrong."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Never

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.reading.cells import CellPacker
from lens_engine.reading.columns import WantedColumns
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.row_sink import NO_CELLS, RowSink
from lens_engine.task.text_checks import (
    MAX_SHOWN,
    UNSTORABLE,
    find_fault,
    is_blank,
    replace_unstorable,
)
from lens_engine.task.wording import show_count, show_label


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row of a file of texts."""

    text: str
    """As written, but for U+FFFD in place of what no store keeps; such a row is bad. "" without a text to read."""
    fault: str | None = None  #: why the row is bad, as a sentence without its subject (the row)
    cells: bytes = field(default=b"", compare=False)  #: the values of all columns, which `unpack_cells` reads


class TextCollector(RowSink):
    """Keeps every row. A bad row does not stop the reading, so that the rows after it keep their numbers."""

    keeps_bad_rows = keeps_cells = True

    def __init__(self, limits: ParsingLimits, name: str, column: str) -> None:
        super().__init__(limits, name, WantedColumns(column, None))
        self.rows: list[TextRow] = []
        self.cells = CellPacker(limits, name, column)
        self.num_bytes = 0  #: of the rows as they are kept
        self._column = column
        self._num_mended = 0
        self._first_mended = list[int]()
        self._digest = hashlib.sha256()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about what was changed in columns beside the texts."""
        if not self._num_mended:
            return ()
        first = ", ".join(map(str, self._first_mended))
        return (
            f"{show_count(self._num_mended, 'row')} with NUL or half a surrogate pair in another column than "
            f"{show_label(self._column)}; U+FFFD stands in its place (first rows: {first})",
        )

    @property
    def sha256(self) -> str:
        """Of the texts, and of what is wrong with them."""
        return self._digest.hexdigest()

    @property
    def next_row(self) -> int:
        return len(self.rows)

    def add(
        self, text: str | None, label: str | None, *, line: int | None = None, cells: Mapping[str, object] = NO_CELLS
    ) -> None:
        del label
        cells = self._mend(cells)
        if text is None or is_blank(text):
            self._keep(text or "", self._column, "is blank; write a text", line, cells)
        else:
            self._keep(text, self._column, find_fault(text, self.limits.max_text_characters), line, cells)

    def note(self, column: str | None, fault: str, *, line: int | None = None) -> None:
        self._keep("", column, fault, line, NO_CELLS)

    def stop(self, fault: str, *, line: int | None = None) -> Never:
        problem = InputProblem(self.field, f"{self.place(line)} {fault}", self.next_row)
        raise InvalidDataset(problem.detail, field=self.field, row=problem.row, problems=(problem,))

    def skip_columns(self, names: Sequence[str]) -> None:
        """Columns beside that of the texts are kept with the rows, so they need names that can be kept.

        Raises:
            InvalidDataset: a name holds what no store keeps.
        """
        for name in names:
            if UNSTORABLE.search(name):
                raise InvalidDataset(
                    f"the column {show_label(name)} has NUL or half a surrogate pair in its name; rename the column",
                    field=self.field,
                )

    def _mend(self, cells: Mapping[str, object]) -> Mapping[str, object]:
        """The cells as they can be kept."""
        mended = {name: replace_unstorable(cell) for name, cell in cells.items()}
        if any(
            cell is not cells[name] and cell != cells[name] for name, cell in mended.items() if name != self._column
        ):
            self._num_mended += 1
            if len(self._first_mended) < MAX_SHOWN:
                self._first_mended.append(self.next_row)
        return mended

    def _keep(
        self, text: str, column: str | None, fault: str | None, line: int | None, cells: Mapping[str, object]
    ) -> None:
        self.refuse_if_full()
        text = replace_unstorable(text)
        packed = self.cells.pack(cells, text)
        if fault is not None:
            fault = fault if column is None else f"`{column}` {fault}"
            fault = fault if line is None else f"(line {line}) {fault}"
        for part in (encoded := text.encode("utf-8", "surrogatepass"), noted := (fault or "").encode()):
            self._digest.update(len(part).to_bytes(8) + part)
        self.num_bytes += len(encoded) + len(noted) + len(packed)
        if self.num_bytes > self.limits.max_kept_bytes:
            raise DatasetTooLarge(
                f"the rows take more than {self.limits.max_kept_bytes:,} bytes with all their columns, as they are "
                f"kept; this was found at row {self.next_row:,}; split the file, or leave columns out",
                field=self.field,
            )
        self.rows.append(TextRow(text, fault, packed))

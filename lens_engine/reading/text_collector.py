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
from lens_engine.reading.text_checks import find_fault, is_blank


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row of a file of texts."""

    text: str  #: as written; "" if the row has no text that can be read
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
        self._digest = hashlib.sha256()

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
        """Unused columns are expected, so their names are not kept."""

    def _keep(
        self, text: str, column: str | None, fault: str | None, line: int | None, cells: Mapping[str, object]
    ) -> None:
        self.refuse_if_full()
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

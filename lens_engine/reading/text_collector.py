"""The text collector: keeps every row of a file without labels, the bad ones with what is wrong."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lens_engine.errors import InvalidDataset
from lens_engine.reading.cells import CellPacker
from lens_engine.reading.columns import ColumnNames, WantedColumns
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.table import Row
from lens_engine.reading.values import find_faults, read_text, show_columns
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


class TextCollector:
    """Keeps every row. A bad row does not stop the reading, so that the rows after it keep their numbers."""

    def __init__(self, limits: ParsingLimits, field: str, wanted: ColumnNames) -> None:
        self.limits, self.field, self.wanted = limits, field, WantedColumns(wanted, None)
        self.rows: list[TextRow] = []
        self._column = show_columns(wanted)
        self.cells = CellPacker(limits, field, self._column)
        self.num_bytes = 0  #: of the rows as they are kept
        self._num_mended = 0
        self._first_mended = list[int]()
        self._digest = hashlib.sha256()
        self._checked = set[str]()  #: names of columns

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

    def add(self, row: Row, encoding: str | None = None) -> None:
        """Keep one row.

        Args:
            encoding: by which the file was decoded, if a surrogate is a byte that is not of it.

        Raises:
            DatasetTooLarge: the cap on rows or bytes is exceeded.
            InvalidDataset: the name of a column cannot be kept.
        """
        if row.empty == "line":
            return
        self._check_names(row.cells)
        cells, fault, text = self._mend(row.cells), row.fault, read_text(row.cells, self.wanted.text)
        if fault is None:
            fault = next(find_faults(row.cells, text, None, self.wanted, encoding), None)
        if fault is not None:
            self._keep("", fault.column, fault.detail, row.line, cells)
        elif not isinstance(text, str) or is_blank(text):
            self._keep(str(text or ""), self._column, "is blank; write a text", row.line, cells)
        else:
            self._keep(text, self._column, find_fault(text, self.limits.max_text_characters), row.line, cells)

    def _check_names(self, names: Iterable[str]) -> None:
        """Columns beside that of the texts are kept with the rows, so they need names that can be kept."""
        for name in names:
            if name not in self._checked:
                if UNSTORABLE.search(name):
                    raise InvalidDataset(
                        f"the column {show_label(name)} has NUL or half a surrogate pair in its name; "
                        "rename the column",
                        field=self.field,
                    )
                self._checked.add(name)

    def _mend(self, cells: Mapping[str, object]) -> Mapping[str, object]:
        """The cells as they can be kept."""
        mended = {name: replace_unstorable(cell) for name, cell in cells.items()}
        if any(
            cell is not cells[name] and cell != cells[name] for name, cell in mended.items() if name != self._column
        ):
            self._num_mended += 1
            if len(self._first_mended) < MAX_SHOWN:
                self._first_mended.append(len(self.rows))
        return mended

    def _keep(
        self, text: str, column: str | None, fault: str | None, line: int | None, cells: Mapping[str, object]
    ) -> None:
        if len(self.rows) >= self.limits.max_rows:
            raise DatasetTooLarge(
                f"the dataset has more than {self.limits.max_rows:,} rows; send a sample of it", field=self.field
            )
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
                f"kept; this was found at row {len(self.rows):,}; split the file, or leave columns out",
                field=self.field,
            )
        self.rows.append(TextRow(text, fault, packed))

"""The contract between the readers of the formats and what takes their rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Never

from lens_engine.reading.columns import WantedColumns
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.types import Example

NO_CELLS: Mapping[str, object] = MappingProxyType({})


class RowSink(ABC):
    """Takes the rows of one file, in order.

    A reader reports every data row once, by `add` or by `note`. `stop` ends the reading.
    """

    keeps_bad_rows: ClassVar[bool]
    """Whether every data row counts, also an empty one. If not, a reader skips rows whose fields are all empty."""

    keeps_cells: ClassVar[bool]
    """Whether `add` wants the values of all columns."""

    def __init__(self, limits: ParsingLimits, field: str, columns: WantedColumns) -> None:
        self.limits = limits
        self.field = field  #: the caller's name of this dataset; a column is named below it (`dataset.text`)
        self.columns = columns
        self.num_blank = 0

    @property
    @abstractmethod
    def next_row(self) -> int:
        """The row that the next `add` or `note` is about."""

    @abstractmethod
    def add(
        self, text: str | None, label: str | None, *, line: int | None = None, cells: Mapping[str, object] = NO_CELLS
    ) -> None:
        """Take one row, or note why it is bad.

        Args:
            label: None if no label column is wanted.
            line: line of the file on which the row begins, from 1.
            cells: the values of all columns by name, if the sink keeps them.

        Raises:
            DatasetTooLarge: the cap on rows or bytes is exceeded.
            InvalidDataset: the cap on labels is exceeded.
        """

    @abstractmethod
    def note(self, column: str | None, fault: str, *, line: int | None = None) -> None:
        """Note that the next row is bad, in one column or as a whole; `fault` completes the sentence "row 3 ..."."""

    @abstractmethod
    def stop(self, fault: str, *, line: int | None = None) -> Never:
        """Stop reading, because the next row and all rows after it cannot be read.

        Raises:
            InvalidDataset: always.
        """

    @abstractmethod
    def skip_columns(self, names: Sequence[str]) -> None:
        """Learn the names of unused columns."""

    def skip_blank(self) -> None:
        """Skip a blank line. It is not a data row and gets no row number."""
        self.num_blank += 1
        if self.num_blank > self.limits.max_rows:
            raise DatasetTooLarge(f"more than {self.limits.max_rows:,} lines are blank", field=self.field)

    def place(self, line: int | None) -> str:
        """The next row, and its line if it is known, for a message."""
        return Example(self.next_row, "", "", line).place

    def refuse_if_full(self) -> None:
        """
        Raises:
            DatasetTooLarge: there is no room for another row.
        """
        if self.next_row >= self.limits.max_rows:
            raise DatasetTooLarge(
                f"the dataset has more than {self.limits.max_rows:,} rows; send a sample of it", field=self.field
            )

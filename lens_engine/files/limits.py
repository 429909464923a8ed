"""Limits on an upload, and the errors of one that is refused.

    lens_engine.errors.InvalidDataset       422  a row, a column or a value is wrong
    ├── BadRows                             422  some rows cannot be used
    ├── UnsupportedDatasetFormat            415  a format that is not read, or not of a stranger
    ├── DatasetTooLarge                     413  more bytes or rows than allowed
    └── DatasetEmpty                        422  fewer than two rows to work with

No message repeats a text of the upload, but for some thirty characters round a place where the file itself cannot be
read.
"""

from dataclasses import dataclass, fields
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.types import Example

_MIB = 2**20
_LONGEST_TEXT = 131_072  #: largest text of an own file (characters)


class BadRows(InvalidDataset):
    """Some rows cannot be used. `others` are the good ones, for a caller that looks for further faults."""

    def __init__(self, message: str, *, others: tuple[Example, ...] = (), **more: Any) -> None:
        super().__init__(message, **more)
        self.others = others


class UnsupportedDatasetFormat(InvalidDataset, code="unsupported-media-type"):
    """The content is compressed, or of a format that is not supported."""


class DatasetTooLarge(InvalidDataset, code="dataset-too-large"):
    """The dataset has more bytes or rows than allowed."""


class DatasetEmpty(InvalidDataset, code="dataset-empty"):
    """The dataset has no rows, or only one."""


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """Caps on one dataset, checked while it is read. All caps are inclusive.

    Raises:
        ValueError: a cap is below 1, or the cap on a text is too large.
    """

    max_bytes: int = 64 * _MIB  #: of the file, and of its texts and labels
    max_kept_bytes: int = 128 * _MIB  #: of a file whose columns are all kept: of its rows as they are kept
    max_rows: int = 100_000
    max_text_characters: int = 20_000
    max_label_characters: int = 200
    max_labels: int = 200
    max_columns: int = 200  #: of a file whose columns are all kept
    max_column_characters: int = 200  #: of the name of a column that is kept
    is_trusted: bool = False  #: whether formats are read that may unpack to any size, such as Parquet
    skips_unlabelled: bool = False  #: whether any share of the rows may lack a label; else a tenth

    @classmethod
    def of_own_files(cls) -> "ParsingLimits":
        """Limits for trusted local files; larger than those of the service."""
        return cls(
            max_bytes=2**31,
            max_kept_bytes=2**32,
            max_rows=2_000_000,
            max_text_characters=_LONGEST_TEXT,
            max_columns=1_000,
            max_column_characters=_LONGEST_TEXT,
            is_trusted=True,
        )

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name.startswith("max_") and getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive")
        if max(self.max_text_characters, self.max_label_characters) > _LONGEST_TEXT:
            raise ValueError(f"a text or label may have at most {_LONGEST_TEXT:,} characters")

    @property
    def max_row_characters(self) -> int:
        """Longest row in the file (characters): with room for `\\uXXXX` escapes and for unused columns."""
        return max(_MIB, 16 * (self.max_text_characters + self.max_label_characters))

    def check_rows(self, number: int, field: str) -> None:
        """Refuse a number of rows above the cap."""
        if number > self.max_rows:
            raise DatasetTooLarge(f"the dataset has more than {self.max_rows:,} rows; send a sample of it", field=field)

    def check_blank(self, number: int, field: str) -> None:
        """Refuse as many lines without a row: a file of nothing else takes as long to read as one of rows."""
        if number > self.max_rows:
            told = f"more than {self.max_rows:,} lines are blank or hold no row; leave them out"
            raise DatasetTooLarge(told, field=field)


def row_too_long(most: int) -> str:
    """What is wrong with a row of more characters than are read at once."""
    advice = "shorten it, or leave it out; if it is not so long, a line break is missing"
    return f"is far too long: it has more than {most:,} characters; {advice}"

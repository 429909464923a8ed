"""Errors of an upload that is refused.

    lens_engine.errors.InvalidDataset       422  a row, a column or a value is wrong
    ├── BadRows                             422  some rows cannot be used
    ├── UnsupportedDatasetFormat            415  neither CSV nor JSONL, nor trusted Parquet
    ├── DatasetTooLarge                     413  more bytes or rows than allowed
    └── DatasetEmpty                        422  fewer than two rows to work with

All have `field`, `row` and `problems`, like `InvalidDataset`. No message repeats a text of the upload, but for some
thirty characters round a place where the file itself cannot be read.
"""

from typing import Any, Never

from lens_engine.errors import InvalidDataset
from lens_engine.types import Example


class BadRows(InvalidDataset):
    """Some rows cannot be used. `others` are the good ones, for a caller that looks for further faults."""

    def __init__(self, message: str, *, others: tuple[Example, ...] = (), **more: Any) -> None:
        super().__init__(message, **more)
        self.others = others


class UnsupportedDatasetFormat(InvalidDataset):
    """The content is compressed, or of a format that is not supported."""

    code = "unsupported-media-type"


class DatasetTooLarge(InvalidDataset):
    """The dataset has more bytes or rows than allowed."""

    code = "dataset-too-large"


class DatasetEmpty(InvalidDataset):
    """The dataset has no rows, or only one."""

    code = "dataset-empty"


def refuse_more_rows(most: int, field: str) -> Never:
    raise DatasetTooLarge(f"the dataset has more than {most:,} rows; send a sample of it", field=field)

"""Errors of an upload that is refused.

    lens_engine.errors.InvalidDataset       422  a row, a column or a value is wrong
    ├── UnsupportedDatasetFormat            415  neither CSV, JSONL nor Parquet
    ├── DatasetTooLarge                     413  more bytes or rows than allowed
    └── DatasetEmpty                        422  fewer than two rows to work with

All have `field`, `row` and `problems`, like `InvalidDataset`. No message repeats a text of the upload.
"""

from lens_engine.errors import InvalidDataset


class UnsupportedDatasetFormat(InvalidDataset):
    """The content is compressed, or of a format that is not supported."""

    code = "unsupported-media-type"


class DatasetTooLarge(InvalidDataset):
    """The dataset has more bytes or rows than allowed."""

    code = "dataset-too-large"


class DatasetEmpty(InvalidDataset):
    """The dataset has no rows, or only one."""

    code = "dataset-empty"

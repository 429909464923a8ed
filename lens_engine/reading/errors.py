"""Why an upload was not taken.

    lens_engine.errors.InvalidDataset       422  a row, a column or a value is wrong
    ├── UnsupportedDatasetFormat            415  neither CSV, JSONL nor Parquet
    ├── DatasetTooLarge                     413  more bytes or rows than allowed
    └── DatasetEmpty                        422  fewer than two rows to work with

All of them carry `field`, `row` and `problems` as `InvalidDataset` does. No message repeats a text of the upload.
"""

from lens_engine.errors import InvalidDataset


class UnsupportedDatasetFormat(InvalidDataset):
    """The content is compressed, or of a format that is not read."""

    code = "unsupported-media-type"


class DatasetTooLarge(InvalidDataset):
    """The dataset has more bytes or rows than allowed."""

    code = "dataset-too-large"


class DatasetEmpty(InvalidDataset):
    """There are no rows, or only one."""

    code = "dataset-empty"

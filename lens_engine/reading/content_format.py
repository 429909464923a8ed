"""Detects the format of an upload from its first bytes. The upload's name and media type are not used."""

from typing import Literal

from lens_engine.reading.dialect import NUM_HEAD_CHARACTERS
from lens_engine.reading.errors import DatasetEmpty, UnsupportedDatasetFormat

TextFormat = Literal["csv", "jsonl"]

NUM_SNIFFED_BYTES = 16

_PARQUET = b"PAR1"
_REFUSED = {
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "compressed with zip (as .xlsx files are, too)",
    b"PK\x05\x06": "compressed with zip",
    b"PK\x07\x08": "compressed with zip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"7z\xbc\xaf\x27\x1c": "compressed with 7-zip",
    b"\x28\xb5\x2f\xfd": "compressed with zstandard",
    b"PARE": "an encrypted Parquet file",
    b"ARROW1": "an Arrow file",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"%PDF-": "a PDF file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel file",
    b"SQLite format 3\x00": "a SQLite database",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF87a": "a picture (GIF)",
    b"GIF89a": "a picture (GIF)",
    b"II*\x00": "a picture (TIFF)",
    b"MM\x00*": "a picture (TIFF)",
    b"{\\rtf": "a text of a word processor (RTF)",
}

_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\f\r\x1a\x1b"})
"""Bytes that no text has. ISO 2022 has Escape, and old editors end a file by Control-Z."""


def is_parquet(head: bytes, field: str, *, takes_parquet: bool = True) -> bool:
    """Whether a file that begins with `head` is a Parquet file, and not a text file.

    Raises:
        UnsupportedDatasetFormat: the content is compressed or of a format that is not supported.
    """
    if head.startswith(_PARQUET):
        if not takes_parquet:
            raise UnsupportedDatasetFormat("the file is a Parquet file; save it as CSV or JSONL", field=field)
        return True
    for magic, name in _REFUSED.items():
        if head.startswith(magic):
            raise UnsupportedDatasetFormat(
                f"the file is {name}; save the table as CSV or JSONL, uncompressed", field=field
            )
    return False


def is_binary(head: bytes) -> bool:
    """Whether a file that is not UTF-8 is no text: more than a hundredth of its beginning is control characters."""
    return 100 * (len(head) - len(head.translate(None, _CONTROLS))) > len(head)


def detect_text_format(head: str, field: str) -> TextFormat:
    """The format of a text file that begins with `head`.

    Raises:
        UnsupportedDatasetFormat: the file is a JSON array.
        DatasetEmpty: there are no characters but spaces.
    """
    content = head.lstrip(" \t\r\n")
    if not content and len(head) < NUM_HEAD_CHARACTERS:
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=field)
    if content.startswith("["):
        raise UnsupportedDatasetFormat(
            "the file is a JSON array; write JSONL, which is one object a line without brackets or commas between",
            field=field,
        )
    return "jsonl" if content.startswith("{") else "csv"

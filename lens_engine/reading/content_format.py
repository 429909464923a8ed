"""Detects the format of an upload from its first bytes. The upload's name and media type are not used."""

import codecs
from typing import Literal

from lens_engine.errors import InvalidDataset
from lens_engine.reading.errors import DatasetEmpty, UnsupportedDatasetFormat

FileFormat = Literal["csv", "jsonl", "parquet"]

NUM_SNIFFED_BYTES = 64 * 1024

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
}
# UTF-32 first: its byte order mark begins with that of UTF-16.
_FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def detect_format(head: bytes, field: str, *, takes_parquet: bool = True) -> FileFormat:
    """The format of a file that begins with `head`.

    Raises:
        UnsupportedDatasetFormat: the content is compressed or of a format that is not supported.
        InvalidDataset: the encoding is not UTF-8, or the file is a JSON array.
        DatasetEmpty: there are no bytes.
    """
    if head.startswith(_PARQUET):
        if not takes_parquet:
            raise UnsupportedDatasetFormat("the file is a Parquet file; save it as CSV or JSONL", field=field)
        return "parquet"
    for magic, name in _REFUSED.items():
        if head.startswith(magic):
            raise UnsupportedDatasetFormat(f"the file is {name}; save it as CSV or JSONL, uncompressed", field=field)
    for mark, encoding in _FOREIGN_MARKS.items():
        if head.startswith(mark):
            raise InvalidDataset(f"the file is {encoding}; save it as UTF-8", field=field)
    content = head.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n")
    if not content and len(head) < NUM_SNIFFED_BYTES:
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=field)
    if content.startswith(b"["):
        raise UnsupportedDatasetFormat(
            "the file is a JSON array; write JSONL, which is one object a line without brackets or commas between",
            field=field,
        )
    return "jsonl" if content.startswith(b"{") else "csv"

"""Files that are recognised and not read."""

import re
from typing import Never

from lens_engine.reading.limits import UnsupportedDatasetFormat

_MAGIC: dict[bytes | tuple[bytes, ...], str] = {
    b"\x1f\x8b": "compressed with gzip",
    (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"): "compressed with zip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"7z\xbc\xaf\x27\x1c": "compressed with 7-zip",
    b"\x28\xb5\x2f\xfd": "compressed with zstandard",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel file, or locked by a password",
    b"PARE": "an encrypted Parquet file",
    b"%PDF-": "a PDF file",
    b"SQLite format 3\x00": "a SQLite database",
    (b"\x89PNG", b"\xff\xd8\xff"): "a picture",
    b"{\\rtf": "a text of a word processor (RTF)",
}
"""What a file begins with, and what it is. Others are told from texts by their control characters."""

_TEXTS = {
    re.compile(r"\s*+(?:<!doctype html|<html|<table)\b", re.IGNORECASE): "a page of HTML",
    re.compile(r"\s*+(?:<\?xml\b|<[A-Za-z][\w:.-]*+(?:\s[^<>]*+)?>\s*+<[A-Za-z])"): "XML",
    re.compile(
        r"\s*+(?:--.*+\n\s*+|/\*.*+\n\s*+)*+"
        r"(?:(?:CREATE TABLE|INSERT INTO|DROP TABLE)\b|BEGIN(?: TRANSACTION)?;|(?:SET|PRAGMA) [^\n;]+;\s)"
    ): "a dump of a database (SQL)",
    re.compile(r"\s*+\|[^\n]*+\n\|[ \t:|]*+-[ \t:|-]*+\r?\n"): "a table of Markdown",
}


def refuse_foreign(head: bytes, field: str) -> None:
    """Refuse a file that begins as one that is not read."""
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            _refuse(what, "save the table as .xlsx, CSV or JSONL, uncompressed", field)


def refuse_foreign_text(head: str, field: str) -> None:
    """Refuse a text of a kind that is not read."""
    for pattern, what in _TEXTS.items():
        if pattern.match(head):
            _refuse(what, "save the table as CSV or JSONL", field)


def _refuse(what: str, advice: str, field: str) -> Never:
    raise UnsupportedDatasetFormat(f"the file is {what}; {advice}", field=field)

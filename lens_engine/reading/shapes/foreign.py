"""Files that are recognised and not read, each with the command that converts it."""

import re
from typing import Never

from lens_engine.reading.limits import UnsupportedDatasetFormat

_PANDAS = (
    "python -c \"import pandas, sys; pandas.{}(sys.argv[1]).to_json('rows.jsonl', orient='records', lines=True)\" FILE"
)

_MAGIC: dict[bytes | tuple[bytes, ...], tuple[str, str]] = {
    b"\x1f\x8b": ("compressed with gzip", "gunzip FILE"),
    (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"): ("compressed with zip", "unzip FILE"),
    b"BZh": ("compressed with bzip2", "bunzip2 FILE"),
    b"\xfd7zXZ\x00": ("compressed with xz", "unxz FILE"),
    b"7z\xbc\xaf\x27\x1c": ("compressed with 7-zip", "7z x FILE"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstandard", "unzstd FILE"),
    b"PARE": ("an encrypted Parquet file", ""),
    b"ORC": ("an ORC file", _PANDAS.format("read_orc")),
    b"Obj\x01": ("an Avro file", "fastavro FILE > rows.jsonl"),
    b"%PDF-": ("a PDF file", ""),
    b"SQLite format 3\x00": ("a SQLite database", "sqlite3 -csv -header FILE 'select * from TABLE' > rows.csv"),
    b"\x89PNG": ("a picture (PNG)", ""),
    b"\xff\xd8\xff": ("a picture (JPEG)", ""),
    b"GIF8": ("a picture (GIF)", ""),
    (b"II*\x00", b"MM\x00*"): ("a picture (TIFF)", ""),
    b"{\\rtf": ("a text of a word processor (RTF)", ""),
    b"\x89HDF": ("an HDF5 file", _PANDAS.format("read_hdf")),
    b"$FL2": ("a file of SPSS", _PANDAS.format("read_spss")),
    b"<stata_dta>": ("a file of Stata", _PANDAS.format("read_stata")),
    (b"\x80\x04\x95", b"\x80\x05\x95"): ("a pickle of Python", _PANDAS.format("read_pickle")),
    b"\x93NUMPY": ("an array of NumPy", ""),
}
"""What a file begins with: what it is, and the command that makes a file of it that is read."""

_TEXTS = {
    re.compile(r"\s*+(?:<!doctype html|<html|<table)\b", re.IGNORECASE): (
        "a page of HTML",
        _PANDAS.format("read_html").replace("(sys.argv[1])", "(sys.argv[1])[0]"),
    ),
    re.compile(r"\s*+(?:<\?xml\b|<[A-Za-z][\w:.-]*+(?:\s[^<>]*+)?>\s*+<[A-Za-z])"): ("XML", _PANDAS.format("read_xml")),
    re.compile(r"(?:---\s*\n|[\w-]+:\s*(?:\n|\S.*\n))?- [\w-]+:\s|---\s*\n[\w-]+:"): (
        "YAML",
        "python -c 'import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)' FILE > rows.json",
    ),
    re.compile(
        r"\s*+(?:--.*+\n\s*+|/\*.*+\n\s*+)*+"
        r"(?:(?:CREATE TABLE|INSERT INTO|DROP TABLE)\b|BEGIN(?: TRANSACTION)?;|(?:SET|PRAGMA) [^\n;]+;\s)"
    ): (
        "a dump of a database (SQL)",
        "export the table as CSV from the database",
    ),
    re.compile(r"\s*+\|[^\n]*+\n\|[ \t:|]*+-[ \t:|-]*+\r?\n"): (
        "a table of Markdown",
        r"sed -E '2d; s/^ *\| *| *\| *$//g; s/ *\| */|/g' FILE > rows.csv",
    ),
}


def refuse_foreign(head: bytes, field: str) -> None:
    """Refuse a file that begins as one that is not read."""
    for magic, (what, command) in _MAGIC.items():
        if head.startswith(magic):
            _refuse(what, command, field, "save the table as .xlsx, CSV or JSONL, uncompressed")


def refuse_foreign_text(head: str, field: str) -> None:
    """Refuse a text of a kind that is not read."""
    for pattern, (what, command) in _TEXTS.items():
        if pattern.match(head):
            _refuse(what, command, field, "save the table as CSV or JSONL")


def _refuse(what: str, command: str, field: str, advice: str) -> Never:
    how = f": {command}" if command else ""
    raise UnsupportedDatasetFormat(f"the file is {what}; {advice}{how}", field=field)

"""Files that are recognised and not read, each with the command that converts it."""

import re
from typing import NamedTuple

from lens_engine.reading.errors import UnsupportedDatasetFormat

_PANDAS = (
    "python -c \"import pandas, sys; pandas.{}(sys.argv[1]).to_json('rows.jsonl', orient='records', lines=True)\" FILE"
)


class _Foreign(NamedTuple):
    what: str
    command: str = ""  #: that makes a file of it that is read


_MAGIC = {
    b"\x1f\x8b": _Foreign("compressed with gzip", "gunzip FILE"),
    b"PK\x03\x04": _Foreign("compressed with zip", "unzip FILE"),
    b"PK\x05\x06": _Foreign("compressed with zip", "unzip FILE"),
    b"PK\x07\x08": _Foreign("compressed with zip", "unzip FILE"),
    b"BZh": _Foreign("compressed with bzip2", "bunzip2 FILE"),
    b"\xfd7zXZ\x00": _Foreign("compressed with xz", "unxz FILE"),
    b"7z\xbc\xaf\x27\x1c": _Foreign("compressed with 7-zip", "7z x FILE"),
    b"\x28\xb5\x2f\xfd": _Foreign("compressed with zstandard", "unzstd FILE"),
    b"PARE": _Foreign("an encrypted Parquet file"),
    b"ORC": _Foreign("an ORC file", _PANDAS.format("read_orc")),
    b"Obj\x01": _Foreign("an Avro file", "fastavro FILE > rows.jsonl"),
    b"%PDF-": _Foreign("a PDF file"),
    b"SQLite format 3\x00": _Foreign("a SQLite database", "sqlite3 -csv -header FILE 'select * from TABLE' > rows.csv"),
    b"\x89PNG": _Foreign("a picture (PNG)"),
    b"\xff\xd8\xff": _Foreign("a picture (JPEG)"),
    b"GIF8": _Foreign("a picture (GIF)"),
    b"II*\x00": _Foreign("a picture (TIFF)"),
    b"MM\x00*": _Foreign("a picture (TIFF)"),
    b"{\\rtf": _Foreign("a text of a word processor (RTF)"),
    b"\x89HDF": _Foreign("an HDF5 file", _PANDAS.format("read_hdf")),
    b"$FL2": _Foreign("a file of SPSS", _PANDAS.format("read_spss")),
    b"<stata_dta>": _Foreign("a file of Stata", _PANDAS.format("read_stata")),
    b"\x80\x04\x95": _Foreign("a pickle of Python", _PANDAS.format("read_pickle")),
    b"\x80\x05\x95": _Foreign("a pickle of Python", _PANDAS.format("read_pickle")),
    b"\x93NUMPY": _Foreign("an array of NumPy"),
}
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_TEXTS = {
    re.compile(r"\s*+(?:<!doctype html|<html|<table)\b", re.IGNORECASE): _Foreign(
        "a page of HTML", _PANDAS.format("read_html").replace("(sys.argv[1])", "(sys.argv[1])[0]")
    ),
    re.compile(r"\s*+(?:<\?xml\b|<[A-Za-z][\w:.-]*+(?:\s[^<>]*+)?>\s*+<[A-Za-z])"): _Foreign(
        "XML", _PANDAS.format("read_xml")
    ),
    re.compile(r"(?:---\s*\n|[\w-]+:\s*(?:\n|\S.*\n))?- [\w-]+:\s|---\s*\n[\w-]+:"): _Foreign(
        "YAML",
        "python -c 'import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)' FILE > rows.json",
    ),
    re.compile(r"\s*+(?:--.*+\n\s*+|/\*.*+\n\s*+)*+(?:CREATE TABLE|INSERT INTO|BEGIN;|DROP TABLE)\b"): _Foreign(
        "a dump of a database (SQL)", "export the table as CSV from the database"
    ),
    re.compile(r"\s*+\|[^\n]*+\n\|[ \t:|]*+-[ \t:|-]*+\r?\n"): _Foreign(
        "a table of Markdown", r"sed -E '2d; s/^ *\| *| *\| *$//g; s/ *\| */|/g' FILE > rows.csv"
    ),
}


def refuse_foreign(head: bytes, field: str) -> None:
    """
    Raises:
        UnsupportedDatasetFormat: the file begins as one that is not read.
    """
    for magic, foreign in _MAGIC.items():
        if head.startswith(magic):
            _refuse(foreign, field, "save the table as CSV or JSONL, uncompressed")


def refuse_untrusted(format: str, field: str) -> None:
    """
    Raises:
        UnsupportedDatasetFormat: always.
    """
    raise UnsupportedDatasetFormat(f"the file is {format}; save it as CSV or JSONL", field=field)


def refuse_foreign_text(head: str, field: str) -> None:
    """
    Raises:
        UnsupportedDatasetFormat: the text is of a kind that is not read.
    """
    for pattern, foreign in _TEXTS.items():
        if pattern.match(head):
            _refuse(foreign, field, "save the table as CSV or JSONL")


def _refuse(foreign: _Foreign, field: str, advice: str) -> None:
    command = f": {foreign.command}" if foreign.command else ""
    raise UnsupportedDatasetFormat(f"the file is {foreign.what}; {advice}{command}", field=field)

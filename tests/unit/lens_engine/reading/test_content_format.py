"""The content decides the format."""

import codecs
import gzip
import io
import random
import zipfile
from pathlib import Path

import pytest
from dataset_uploads import WRITERS, Uploads

from lens_engine.reading import DatasetEmpty, ParsingLimits, UnsupportedDatasetFormat, parse_dataset

ROWS = [("a text", "x"), ("another", "y")]
TABLE = b"text,label\na,x\nb,y\n"


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", content)
    return file.getvalue()


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl", "data.parquet", "data.gz", "data"])
@pytest.mark.parametrize("written_as", sorted(WRITERS))
def test_file_name_decides_nothing(tmp_path: Path, name: str, written_as: str) -> None:
    path = tmp_path / name
    path.write_bytes(WRITERS[written_as](ROWS))

    assert parse_dataset(path, ParsingLimits.of_own_files()).format == written_as


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(TABLE, mtime=0), "gzip"),
        (zipped(TABLE), "zip"),
        (zipped(zipped(TABLE)), "zip"),
        (zipped(b"")[:0] + b"PK\x05\x06" + bytes(18), "zip"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\x28\xb5\x2f\xfd", "zstandard"),
        (b"PARE....", "encrypted Parquet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel file"),
        (b"%PDF-1.7", "PDF"),
        (b"<?xml version='1.0'?><rows><row>a</row></rows>", "the file is XML"),
        (b"<!DOCTYPE html><table></table>", "a page of HTML"),
        (b"CREATE TABLE rows (text TEXT);", "a dump of a database"),
        (b"-- 1\nSET statement_timeout = 0;\n", "a dump of a database"),
        (b"| text | label |\n|:---|---:|\n| fine | good |\n", "a table of Markdown"),
        (b"SQLite format 3\x00", "a SQLite database"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a picture"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a picture"),
        (b"{\\rtf1\\ansi text", "RTF"),
        (random.Random(4).randbytes(5000), "the file is not text"),
        (TABLE.decode().replace("a", "é").encode("utf-32-le"), "name the encoding of a text (encoding), e.g. utf-16"),
    ],
)
def test_other_format_is_refused_as_unsupported(uploads: Uploads, content: bytes, words: str) -> None:
    refusal = uploads.refuse(content)

    assert isinstance(refusal, UnsupportedDatasetFormat)
    assert refusal.code == "unsupported-media-type"
    assert words in str(refusal)


@pytest.mark.parametrize("content", [b"ARROW1\x00\x00", b"\xff\xff\xff\xff\x10"])
def test_what_may_unpack_to_any_size_is_refused_of_strangers(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "upload"
    path.write_bytes(content)
    with pytest.raises(UnsupportedDatasetFormat, match="save it as CSV or JSONL"):
        parse_dataset(path, ParsingLimits())


@pytest.mark.parametrize("content", [b"", codecs.BOM_UTF8, b"\n", b" \r\n\t\n", b"\n" * 70_000])
def test_file_with_nothing_in_it_is_refused_as_empty(uploads: Uploads, content: bytes) -> None:
    assert isinstance(uploads.refuse(content), DatasetEmpty)


@pytest.mark.parametrize("content", [TABLE, b'{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n'])
def test_byte_order_mark_of_utf8_is_passed_over(uploads: Uploads, content: bytes) -> None:
    assert uploads.parse(codecs.BOM_UTF8 + content).sha256 == uploads.parse(content).sha256

"""Datasets as files: good ones of each format, and what can happen to a file."""

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable

import pyarrow
import pyarrow.parquet

from tests.integration.samples import make_rows
from tests.unit.lens_engine.reading.dataset_uploads import WRITERS

_ROWS = [(row["text"], row["label"]) for row in make_rows()]
_GOOD = {name: WRITERS[name](_ROWS) for name in ("csv", "jsonl", "parquet")}
_NAMES = (
    "rows.csv",
    "rows.jsonl",
    "rows.parquet",
    "rows.xlsx",
    "rows",
    "../../rows.csv",
    "r\u00f6ws\u202e.csv",
    "a" * 300,
)

Mishap = Callable[[bytes, random.Random], bytes]


def draw_file(draw: random.Random) -> tuple[str, bytes]:
    """A name, which need not fit, and the content."""
    if draw.random() < 0.35:
        return draw.choice(_NAMES), draw.choice(_ODD)(draw)
    content = draw.choice(list(_GOOD.values()))
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
        content = draw.choice(_MISHAPS)(content, draw)
    return draw.choice(_NAMES), content


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _behead(content: bytes, draw: random.Random) -> bytes:
    return content[draw.randrange(len(content) + 1) :]


def _flip(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(min(len(changed), draw.choice((1, 3, 30)))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _insert(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.choice(_PIECES) * draw.choice((1, 1, 5, 5000)) + content[place:]


def _recode(content: bytes, draw: random.Random) -> bytes:
    codec = draw.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp037", "utf-7"))
    return content.decode("latin-1").encode(codec, "replace")


def _join(content: bytes, draw: random.Random) -> bytes:
    return content + draw.choice(list(_GOOD.values()))


def _pack(content: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        return gzip.compress(content)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", content)
    return packed.getvalue()


_MISHAPS: tuple[Mishap, ...] = (_cut, _behead, _flip, _flip, _insert, _insert, _recode, _join, _pack)
_PIECES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\r", b"\n", b",", b"\xed\xa0\x80", b"\xc3", b"{", b"["),
    *("\u0301".encode(), "\u202e".encode(), "\u200b".encode(), b"\x1a", b"1e999", b"NaN", b"\\ud800", b"PAR1"),
)


def _nested_json(draw: random.Random) -> bytes:
    depth = draw.choice((10, 1_000, 200_000))
    return b'{"text": ' + b"[" * depth + b"]" * draw.choice((0, depth)) + b', "label": "a"}\n'


def _huge_numbers(draw: random.Random) -> bytes:
    number = draw.choice(("1e400", "-1e400", "9" * 5_000, "9" * 100_000, "NaN", "0.1e-999", "1" + "0" * 400))
    return "".join(f'{{"text": "text {row}", "label": {number}}}\n' for row in range(4)).encode()


def _odd_values(draw: random.Random) -> bytes:
    values = (None, True, 1.5, [], {}, "", " ", "\x00", "\ud800", "a" * 30_000, "\u0301" * 40, {"text": "x"})
    rows = [{"text": draw.choice(values), "label": draw.choice(values), "": 1} for _ in range(6)]
    return "\n".join(json.dumps(row) for row in rows).encode()


def _many_columns(draw: random.Random) -> bytes:
    names = ",".join(draw.choice(("text", "label", "", "x")) for _ in range(draw.choice((3, 300, 20_000))))
    return f"{names}\n{names}\n".encode()


def _long_line(draw: random.Random) -> bytes:
    quote = draw.choice(("", '"'))
    return f"text,label\n{quote}{'a' * draw.choice((200_000, 3_000_000))},b\n".encode()


def _parquet_bomb(draw: random.Random) -> bytes:
    """A dictionary of one long text, named by very many rows: some kilobytes that unpack to gigabytes."""
    count = draw.choice((100, 90_000, 2_000_000))
    dictionary = pyarrow.array(["x" * draw.choice((10, 19_000, 1_000_000))])
    numbers = pyarrow.array([0] * count, pyarrow.int32())
    text = pyarrow.DictionaryArray.from_arrays(numbers, dictionary)
    return _write(pyarrow.table({"text": text, "label": text}))


def _odd_parquet(draw: random.Random) -> bytes:
    columns = (
        pyarrow.array([[["x"]]] * 5),
        pyarrow.array([{"a": 1}] * 5),
        pyarrow.array([b"\xff\xfe"] * 5),
        pyarrow.array([None] * 5),
        pyarrow.array([2**63 - 1] * 5),
        pyarrow.array([float("nan")] * 5),
        pyarrow.array([10**12] * 5, pyarrow.timestamp("s")),
        pyarrow.array(["x", "y", "z", "", None]),
    )
    table = pyarrow.table({name: draw.choice(columns) for name in ("text", "label", "text ")})
    return _write(table.slice(0, draw.choice((0, 5))))


def _noise(draw: random.Random) -> bytes:
    return draw.choice((b"", b"text,label\n", b"PAR1", b'{"text": "')) + draw.randbytes(draw.choice((0, 1, 50, 5_000)))


def _write(table: pyarrow.Table) -> bytes:
    target = io.BytesIO()
    pyarrow.parquet.write_table(table, target, compression="zstd")
    return target.getvalue()


_ODD: tuple[Callable[[random.Random], bytes], ...] = (
    *(_nested_json, _huge_numbers, _odd_values, _many_columns, _long_line),
    *(_parquet_bomb, _odd_parquet, _odd_parquet, _noise, _noise),
)

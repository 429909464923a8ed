"""Datasets as files: good ones of each format, and what can happen to a file."""

import gzip
import json
from collections.abc import Callable
from random import Random

from tests.fuzz.archives import draw_archive
from tests.integration.samples import make_csv, make_rows

_GOOD = (make_csv(), "\n".join(json.dumps(row) for row in make_rows()).encode())
_PIECES = (b"\x00", b"\xff\xfe", b'"', b"\r", b",", b"\xed\xa0\x80", b"{", b"\x1a", b"1e999", b"NaN", b"\\ud800")
_VALUES = (None, True, 1.5, [], {}, "", " ", "\x00", "\ud800", "a" * 30_000, {"text": "x"})


def draw_file(draw: Random) -> bytes:
    """A dataset, mostly with faults."""
    if draw.random() < 0.3:
        return draw.choice(_ODD)(draw)
    content = draw.choice(_GOOD)
    for _ in range(draw.choice((0, 1, 1, 2))):
        content = draw.choice(_MISHAPS)(content, draw)
    return content


def _cut(content: bytes, draw: Random) -> bytes:
    return content[draw.randrange(2) * draw.randrange(len(content) + 1) : draw.randrange(len(content) + 1)]


def _flip(content: bytes, draw: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(min(len(changed), draw.choice((1, 3, 30)))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _insert(content: bytes, draw: Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.choice(_PIECES) * draw.choice((1, 5, 5000)) + content[place:]


def _recode(content: bytes, draw: Random) -> bytes:
    codec = draw.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp037", "utf-7"))
    return content.decode("latin-1").encode(codec, "replace")


def _pack(content: bytes, _: Random) -> bytes:
    return gzip.compress(content)


def _nested_json(draw: Random) -> bytes:
    depth = draw.choice((10, 1_000, 200_000))
    return b'{"text": ' + b"[" * depth + b"]" * draw.choice((0, depth)) + b', "label": "a"}\n'


def _odd_values(draw: Random) -> bytes:
    rows = [{"text": draw.choice(_VALUES), "label": draw.choice(_VALUES), "": 1} for _ in range(6)]
    return "\n".join(json.dumps(row) for row in rows).encode()


def _huge_number(draw: Random) -> bytes:
    return f'{{"text": "x", "label": {draw.choice(("1e400", "9" * 100_000, "NaN", "0.1e-999"))}}}\n'.encode()


def _many_columns(draw: Random) -> bytes:
    names = ",".join(draw.choice(("text", "label", "", "x")) for _ in range(draw.choice((3, 300, 20_000))))
    return f"{names}\n{names}\n".encode()


def _long_line(draw: Random) -> bytes:
    quote = draw.choice(("", '"'))
    return f"text,label\n{quote}{'a' * draw.choice((200_000, 3_000_000))},b\n".encode()


_MISHAPS: tuple[Callable[[bytes, Random], bytes], ...] = (_cut, _flip, _insert, _recode, _pack)
_ODD: tuple[Callable[[Random], bytes], ...] = (
    *(_nested_json, _odd_values, _huge_number, _many_columns, _long_line),
    draw_archive,
)

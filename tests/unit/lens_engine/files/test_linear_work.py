"""What strangers send is read in time that grows as its size does, whatever it holds."""

import json
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from written_shapes import ROWS, xlsx

from app.errors import AppError
from app.web.request_body import parse_json
from lens_engine.errors import InvalidDataset
from lens_engine.files import ParsingLimits, parse_dataset

LIMITS = ParsingLimits()
TABLE = "text,label\n" + "".join(f"some text {number},{'ab'[number % 2]}\n" for number in range(40))
ARFF = "@relation a\n@attribute t string\n@attribute c {a,b}\n@data\n"
RASA = "nlu:\n- intent: a\n  examples: |\n    - hi\n"
SIZE, TIMES = 2**12, 4


def fill(head: str, piece: str, tail: str = "") -> Callable[[int], bytes]:
    return lambda size: (head + piece * (size // len(piece)) + tail).encode("utf-8", "surrogatepass")


def pack(part: str, write: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """A workbook with an odd part. It is not packed: of a packed one, what it unpacks to has limits of its own."""

    def write_archive(size: int) -> bytes:
        file = BytesIO()
        with ZipFile(BytesIO(xlsx([("text", "label"), *ROWS]))) as old, ZipFile(file, "w") as new:
            for name in old.namelist():
                new.writestr(name, write(20 * size) if name == part else old.read(name))
        return file.getvalue()

    return write_archive


def widen(head: str, cell: str, rows: int) -> Callable[[int], bytes]:
    """Rows of as many columns as fit."""
    return lambda size: "\n".join(
        [head * (size // rows // len(cell)), *[cell * (size // rows // len(cell))] * rows]
    ).encode()


SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
WRITERS: dict[str, Callable[[int], bytes]] = {
    "blank lines": fill(TABLE, "\n"),
    "blank rows": fill(TABLE, ",\n"),
    "open quotes": fill(TABLE, '"a\n'),
    "quotes that open at the end of each line": fill(TABLE, 'p",x,"y\n'),
    "quotes within an open text": fill(TABLE + '"', 'a"b\n'),
    "an open text": fill(TABLE + '"', "a,b\n"),
    "quotes round lines": fill("", '"a,""b"\n'),
    "single quotes": fill("a,'b'\n" * 40, ",'a"),
    "double quotes": fill(TABLE, ',"a'),
    "delimiters": fill(TABLE, "a,"),
    "a wide header": widen("a,", "a,", 1),
    "wide rows": widen("n,", "1,", 40),
    "wider rows": lambda size: "\n".join(["n," * (size // 200), *["1," * (size // 200 + 1)] * 100]).encode(),
    "marks": fill(TABLE, "e\u0301\u0323"),
    "a value a line": fill('{"text": "a b", "label": "x"}\n' * 9, "{}\n"),
    "blank lines of JSON": fill('{"text": "a b", "label": "x"}\n' * 9, "\n"),
    "lists": fill("", "["),
    "objects": fill("", '{"a":'),
    "numbers": fill('[{"text": "a", "label": 1', "1"),
    "keys": lambda size: json.dumps({"data": [{f"k{number}": 1 for number in range(size // 9)}] * 2}).encode(),
    "names with dots": lambda size: json.dumps([{"a." * (size // 40): {"a": "x"}, "label": "x"}] * 20).encode(),
    "quoted lists": fill('[{"text": "a", "label": "', "['a',", '"}]'),
    "labels of fastText": fill("__label__a b\n" * 20, "__label__a "),
    "intents": fill(RASA, "    - [a](\n"),
    "entities": fill(RASA + "    - ", "[a]("),
    "a text of YAML": fill(RASA + "    - text: |\n", "       a\n"),
    "lists of YAML": fill("nlu:\n- intent: a\n  examples: ", "["),
    "dashes of YAML": fill("nlu:\n", "- "),
    "blank lines of YAML": fill("nlu:\n", "\n", "- intent: a\n"),
    "headings": fill("# a\n- b\n# c\n- d\n", "- {a=\n"),
    "attributes": fill("@relation a\n@attribute 'a", "\\' "),
    "double quotes of ARFF": fill(ARFF, ',"a \\"'),
    "spaces of ARFF": fill(ARFF, ",  '  "),
    "tags of XML": fill("<a", " a"),
    "a table of Markdown": fill("|a|\n|", "- "),
    "cells": pack(SHEET, fill("<a>", "<c><v>1</v></c>", "</a>")),
    "texts": pack(STRINGS, fill("<a>", "<si><t>a</t></si>", "</a>")),
    "texts without an end": pack(STRINGS, fill("", "<si>")),
    "blanks of a sheet": pack(SHEET, fill("<a>", " ", "</a>")),
    "an attribute": pack(SHEET, fill("<a b='", "x")),
    "a comment": pack(SHEET, fill("<a><!--", "- ")),
}
BODIES = {
    "strings": fill('["', '\\"'),
    "depth": fill("", '[{"a":'),
    "repeated keys": fill("{", '"a":1,'),
    "odd characters": fill('[{"a":', '"\\u0000",'),
    "numbers": fill("[", "9"),
}


def read(write: Callable[[int], bytes], path: Path, size: int) -> Callable[[], object]:
    path.write_bytes(write(size))
    return partial(ends, partial(parse_dataset, path, LIMITS))


def ends(work: Callable[[], object]) -> None:
    try:
        work()
    except (InvalidDataset, AppError):
        return


def measure(work: Callable[[], object]) -> float:
    """Seconds of the processor, the lesser of two times."""
    taken = list[float]()
    for _ in range(2):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize("name", [*WRITERS, *(f"body: {name}" for name in BODIES)])
def test_four_times_the_size_takes_no_more_than_nine_times_the_work(tmp_path: Path, name: str) -> None:
    """Quadratic work takes sixteen times as long. What takes under 20 ms has too few steps to tell."""
    if name in WRITERS:
        works = [read(WRITERS[name], tmp_path / str(size), size) for size in (SIZE, TIMES * SIZE)]
    else:
        raws = [BODIES[name.removeprefix("body: ")](size) for size in (SIZE, TIMES * SIZE)]
        works = [partial(ends, partial(parse_json, raw)) for raw in raws]
    small, large = map(measure, works)
    assert large < max(9 * small, 0.02)

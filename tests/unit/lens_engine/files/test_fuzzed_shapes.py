"""Files of every shape, changed in their structure, and odd archives end in a refusal or a table.

`python tests/unit/lens_engine/files/test_fuzzed_shapes.py 600` runs for as many seconds, with other seeds.
"""

import json
import resource
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from written_shapes import ROWS, SHAPES

from lens_engine.files import InvalidDataset, ParsingLimits, parse_dataset, read_texts
from tests.fuzz.archives import draw_archive

VALUES: list[Any] = [
    None,
    True,
    -1,
    1.5,
    10**30,
    [],
    {},
    ["a", "b"],
    [[]],
    {"text": "x"},
    "",
    " ",
    "x" * 30_000,
    "\0",
    "{",
]
_MARKS = [b'"', b"'", b",", b"\t", b"\n", b"\r", b"\\", b"[", b"{", b"}", b"\0", b"\xff", b"<"]
PIECES = [*_MARKS, b"__label__", b"- ", b"@data\n", b": "]
STRANGERS = ParsingLimits(max_bytes=2**20, max_rows=1_000)


def change_value(value: Any, draw: Random) -> Any:
    """The value, with something within it replaced, left out, repeated or nested."""
    if draw.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return draw.choice([*VALUES, [value], {"data": value}])
    if isinstance(value, list):
        place = draw.randrange(len(value))
        changed = [value[place]] * 3 if draw.random() < 0.2 else [change_value(value[place], draw)]
        return [*value[:place], *changed, *value[place + 1 :]]
    key = draw.choice(list(value))
    rest = {name: one for name, one in value.items() if name != key}
    return (
        rest
        if draw.random() < 0.3
        else {**rest, draw.choice([key, key, "text", "label", ""]): change_value(value[key], draw)}
    )


_LARGEST = 2**23  #: bytes of a line that is repeated


def change(content: bytes, draw: Random) -> bytes:
    kind = draw.randrange(4)
    if content.startswith(b"PK") and kind < 3:
        return change_archive(content, draw)
    if content[:1] in b"[{" and kind < 3:
        try:
            return json.dumps(change_value(json.loads(content), draw)).encode()
        except (ValueError, RecursionError):  # a value a line
            lines = content.splitlines() or [b""]
            place = draw.randrange(len(lines))
            try:
                lines[place] = json.dumps(change_value(json.loads(lines[place]), draw)).encode()
            except (ValueError, RecursionError):
                lines[place] = b"{"
            return b"\n".join(lines)
    lines = content.splitlines(keepends=True) or [b""]
    place = draw.randrange(len(lines))
    if kind == 0:
        lines[place] = lines[place] * min(draw.choice((0, 2, 300)), 1 + _LARGEST // (1 + len(lines[place])))
    elif kind == 1:
        cut = draw.randrange(len(lines[place]) + 1)
        lines[place] = lines[place][:cut] + draw.choice(PIECES) * draw.choice((1, 1, 2, 5_000)) + lines[place][cut:]
    elif kind == 2:
        lines = lines[place:] + lines[:place]
    else:
        whole = b"".join(lines)
        return whole[: draw.randrange(len(whole) + 1)]
    return b"".join(lines)


def change_archive(content: bytes, draw: Random) -> bytes:
    file = BytesIO()
    try:
        with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
            names = old.namelist()
            chosen = draw.choice(names)
            for name in names:
                part = old.read(name)
                new.writestr(name, change(part, draw) if name == chosen else part)
    except zipfile.BadZipFile:
        return content[::-1]
    return file.getvalue()


def ends_well(read: Callable[..., object], path: Path, limits: ParsingLimits) -> bool:
    try:
        read(path, limits)
    except InvalidDataset as refusal:
        return bool(str(refusal))
    return True


def try_one(path: Path, draw: Random) -> None:
    is_archive = draw.random() < 0.3
    content = draw_archive(draw) if is_archive else SHAPES[draw.choice(list(SHAPES))](ROWS)
    for _ in () if is_archive else range(draw.choice((1, 1, 2, 4))):
        content = change(content, draw)
    path.write_bytes(content)
    for limits in (STRANGERS, ParsingLimits.of_own_files()):
        for read in (parse_dataset, read_texts):
            assert ends_well(read, path, limits)


@pytest.mark.parametrize("seed", [*range(8), 1796097998671796783])  # the last has a length that no memory has
def test_changed_file_of_any_shape_ends_in_a_refusal_or_a_table(tmp_path: Path, seed: int) -> None:
    draw = Random(seed)
    for _ in range(6):
        try_one(tmp_path / "upload", draw)


def change_each(value: Any, odd: object) -> Iterator[Any]:
    """The value, with one value within it replaced: each in turn."""
    yield odd
    if isinstance(value, dict | list):
        for place, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
            for changed in change_each(one, odd):
                copy = value.copy()
                copy[place] = changed
                yield copy


@pytest.mark.parametrize("odd", [7, {"x": [7]}], ids=repr)
@pytest.mark.parametrize("written", [one for one, write in SHAPES.items() if write(ROWS)[:1] in b"[{"])
def test_row_with_an_odd_value_anywhere_ends_in_a_refusal_or_a_table(tmp_path: Path, written: str, odd: object) -> None:
    content, path = SHAPES[written](ROWS[:12]), tmp_path / "upload"
    try:
        rows = json.loads(content)
    except ValueError:  # a value a line
        rows = [json.loads(line) for line in content.splitlines()] if content.startswith(b'{"') else []
    if isinstance(rows, list) and rows:
        for changed in change_each(rows[-1], odd):
            path.write_text(json.dumps([*rows[:-1], changed]))
            assert ends_well(parse_dataset, path, STRANGERS)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))  # what takes more ends the run
    ends, number = time.monotonic() + float(sys.argv[1]), time.time_ns()
    with TemporaryDirectory() as folder:
        while time.monotonic() < ends:
            number += 1
            try:
                try_one(Path(folder, "upload"), Random(number))
            except BaseException:
                sys.stderr.write(f"seed {number}\n")
                raise

"""Lines in a form of their own: fastText, and tables of Weka (ARFF)."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from typing import Literal

from lens_engine.errors import InvalidDataset
from lens_engine.reading.shapes.records import Quoting, read_records
from lens_engine.reading.shapes.text_file import TextFile
from lens_engine.reading.table import NO_CELLS, Fault, Row, Table

_LABEL = "__label__"
_NEARLY_ALL = 0.9
_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
_ARFF = re.compile(r"\s*+(?:%.*+\s++)*+@relation\b", re.IGNORECASE)


def read_fast_text(file: TextFile) -> Table | None:
    """The table of a file of fastText; None of another file."""
    first = [line.strip() for line in file.head_lines if line.strip()]
    labelled = sum(bool(_split_labels(line)["label"]) for line in first)
    if not first or _LABEL not in first[0] or labelled < _NEARLY_ALL * len(first):  # a header is of another table
        return None
    return _make_table(
        lambda: (Row(_split_labels(line), number) for number, line in file.numbered_lines()), "a file of fastText", file
    )


def _split_labels(line: str) -> dict[str, object]:
    """The text of a line, and the labels before it or, without any, after it."""
    words = line.split()
    before = sum(1 for _ in takewhile(_is_label, words))
    after = 0 if before else sum(1 for _ in takewhile(_is_label, reversed(words)))
    labels = words[:before] or words[len(words) - after :]
    text = (line.split(None, before)[before:] or [""])[0] if before else line.rsplit(None, after)[0] if after else line
    return {"text": text, "label": [one.removeprefix(_LABEL).rstrip(",") for one in labels]}


def _is_label(word: str) -> bool:
    return word.startswith(_LABEL) and word.rstrip(",") != _LABEL


def _make_table(read: Callable[[], Iterator[Row]], kind: str, file: TextFile) -> Table:
    return Table(("text", "label"), read, "text", file.dialect, kind, "text", "label", has_raw_bytes=True)


def read_arff(file: TextFile) -> Table | None:
    """The table of an ARFF file; None of another file. Rows that are written as index and value are refused."""
    if not _ARFF.match(file.head):
        return None
    names, nominal = list[str](), list[str]()
    is_sparse = has_data = False
    for number, (_, line) in enumerate(file.numbered_lines()):
        file.limits.check_blank(number - len(names), file.field)
        if has_data and not line.startswith("%"):
            is_sparse = line.startswith("{")
            break
        if found := _ATTRIBUTE.fullmatch(line):
            names.append(found[1].strip("'\""))
            nominal += [names[-1]] * found[2].startswith("{")
        has_data = has_data or line.casefold() == "@data"
    if not names or is_sparse:
        what = "whose rows are sparse" if is_sparse else "without attributes"
        raise InvalidDataset(f"the file is an ARFF file {what}; save it as CSV", field=file.field)
    label = nominal[0] if len(nominal) == 1 else None
    rows = partial(_read_arff_rows, file, names)
    return Table(tuple(names), rows, "text", file.dialect, "an ARFF file", label=label, has_raw_bytes=True)


def _read_arff_rows(file: TextFile, names: list[str]) -> Iterator[Row]:
    lines = file.lines("")
    start = 1 + sum(1 for _ in takewhile(lambda line: line.strip().casefold() != "@data", lines))
    content = (line if not line.lstrip().startswith("%") else "\n" for line in lines)
    quoting, num_blank = Quoting(_find_quote(file), has_escapes=True, skips_spaces=True), 0
    for record in read_records(content, ",", quoting, file.limits.max_row_characters):
        number = start + record.line
        if record.fault is not None:
            yield Row(NO_CELLS, number, record.fault)
        elif record.is_blank:
            num_blank += 1
            file.limits.check_blank(num_blank, file.field)
            yield Row(NO_CELLS, number, empty="line")
        elif len(record.fields) != len(names):
            detail = f"has {len(record.fields):,} values for {len(names):,} attributes"
            yield Row(NO_CELLS, number, Fault("of another width than the attributes", detail))
        else:
            values = (None if value.strip() == "?" else value.strip() for value in record.fields)
            yield Row(dict(zip(names, values, strict=True)), number)


def _find_quote(file: TextFile) -> Literal['"', "'"]:
    """The quote that opens more values of the first lines."""
    singles, doubles = (sum(line.count(f",{one}") + line.startswith(one) for line in file.head_lines) for one in "'\"")
    return '"' if doubles > singles else "'"

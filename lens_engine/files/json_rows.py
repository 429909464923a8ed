"""JSON: a value a line, an array of rows, or an object with a list; what is in it decides which rows it means."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import LABEL_NAMES, TEXT_NAMES, find_usual, is_usual, name_positions
from lens_engine.files.limits import DatasetEmpty, row_too_long
from lens_engine.files.strict_json import LooseJson, scan_row
from lens_engine.files.table import NAMED_ROWS, NO_CELLS, DatasetFormat, Fault, Row, Table, name_class
from lens_engine.files.text_file import UNDECODED, TextFile, quote_around, show_encoding, tell_place
from lens_engine.prompt.text_checks import show_names
from lens_engine.prompt.wording import show_count

_BLANKS, _BETWEEN = " \t\r\n", re.compile(r"[ \t\r\n,]*")
_TEXTS = ("patterns", "utterances", "examples", "phrases", "text")  #: what a chatbot calls the texts of an intent
_DEEPEST = 5

_Found = tuple[list[Any], str]
"""The rows that an object holds, and what is read; none if it may be several things, and what it may be."""


def read_json(file: TextFile) -> Table | None:
    """The table of a file that begins as JSON does; None of another file. JSON without rows is refused."""
    head = file.head.lstrip(" \t\r\n\ufeff")
    if not re.match(r'\{|\[\s*(["{\[\]\d\-tfn])', head):  # else a label in brackets
        return None
    if _is_of_lines(file):
        return make_table(lambda: _read_lines(file), "jsonl", file)
    rows, note = _read_whole(file)
    notes = (*file.dialect.notes, note) if note else file.dialect.notes
    return make_table(rows, "json", replace(file, dialect=replace(file.dialect, notes=notes)))


def make_table(rows: Callable[[], Iterator[Row]], format: DatasetFormat, file: TextFile) -> Table:
    """The table of rows that are objects, or lists of values; that of intents has a row for each of their texts."""
    sample = list(islice(rows(), NAMED_ROWS))
    names = dict.fromkeys(chain.from_iterable(row.cells for row in sample))
    if not names and all(row.fault for row in islice(rows(), file.limits.max_rows + 1)):
        if not sample:
            raise DatasetEmpty("the file holds no rows", field=file.field)
        if format == "json" and sample[0].fault:
            raise InvalidDataset(f"the file {sample[0].fault.detail}", field=file.field)
    if key := _find_texts([row.cells for row in sample if row.cells]):
        names, rows = {"text": None, **names}, partial(_spread, rows, key)
    return Table(tuple(names), rows, format, file.dialect, has_header=False)


def make_row(value: object, line: int | None = None) -> Row:
    """The row that a value of JSON means."""
    if isinstance(value, dict):
        return Row(value, line)
    if isinstance(value, list) and len(value) > 1:
        return Row(dict(zip(name_positions(len(value)), value, strict=True)), line)
    if isinstance(value, str):
        return Row({"text": value}, line)
    return Row(NO_CELLS, line, Fault("without a JSON object", "is not a JSON object"))


def _is_of_lines(file: TextFile) -> bool:
    """Whether each line is a value: the first is, and not the beginning of a longer text."""
    values = list[Any]()
    for line in islice(filter(str.strip, file.head_lines), NAMED_ROWS):
        try:
            values.append(_load(line))
        except ValueError:
            values.append(None)
    first, *others = values
    if not others:
        return isinstance(first, dict) and not _holds_rows(first)
    num_values = sum(isinstance(one, dict | list) for one in others)
    return isinstance(first, dict) or (num_values > 0 and (isinstance(first, list) or num_values > len(others) / 2))


def _holds_rows(value: Mapping[str, Any]) -> bool:
    """Whether the only object of a file is a table, and not a row."""
    if any(key == "messages" or (is_usual(key) and isinstance(one, str)) for key, one in value.items()):
        return False
    found = find_rows(value)
    return found is not None and len(found[0]) != 1


def _load(line: str) -> Any:
    """The value of a line; `LooseJson` or `json.JSONDecodeError` if it holds none, or more than one."""
    text = line.strip(_BLANKS)
    value, end = scan_row(text, 0)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def _read_lines(file: TextFile) -> Iterator[Row]:
    """The rows of a file of lines: only \\n ends a line."""
    longest, name = file.limits.max_row_characters, show_encoding(file.dialect.encoding)
    for number, line in enumerate(file.lines("\n"), start=1):
        if len(line) > longest:
            yield Row(NO_CELLS, number, Fault("far too long", row_too_long(longest)))
        elif not line.strip(_BLANKS):
            yield Row(NO_CELLS, number, empty="line")
        elif broken := UNDECODED.search(line):
            words = quote_around(line, broken.start())
            detail = f"is not {name} at column {broken.start() + 1:,}, {words}; save the file as UTF-8"
            yield Row(NO_CELLS, number, Fault(f"with bytes that are not {name}", detail))
        else:
            try:
                yield make_row(_load(line), number)
            except json.JSONDecodeError as error:
                at = f"{error.msg} at column {error.colno:,}, {quote_around(line, error.pos)}"
                fault = Fault("without valid JSON", f"is not valid JSON ({at}); write one object a line")
                yield Row(NO_CELLS, number, fault)
            except LooseJson as error:
                yield Row(NO_CELLS, number, Fault("without valid JSON", str(error)))


def _read_whole(file: TextFile) -> tuple[Callable[[], Iterator[Row]], str]:
    """The rows of a whole text of JSON (an array, or what an object holds), and a note."""
    text = file.text
    start = _skip(text, 0)
    if text[start] == "[":
        return lambda: _read_items(text, start + 1, file), ""
    value, end = _scan(text, start, file)
    if _skip(text, end) < len(text):
        told = f"more follows the object, {tell_place(text, end, 1)}; write an object a line, or a list of objects"
        raise InvalidDataset(f"the file is not valid JSON: {told}", field=file.field)
    items, note = find_rows(value) or ([], "no list of rows is found in it")
    if not items:
        told = f"the file is one JSON object, and {note}; keys found: {show_names(list(value))}"
        raise InvalidDataset(f"{told}; write the rows as a list of objects", field=file.field)
    file.limits.check_rows(len(items), file.field)
    rows = list(map(make_row, items))
    return lambda: iter(rows), note


def _read_items(text: str, start: int, file: TextFile) -> Iterator[Row]:
    """The rows of an array."""
    line, last, has_lines = 1, 0, "\n" in text.strip()
    while (start := _skip(text, start)) < len(text) and text[start] != "]":
        line, last = line + text.count("\n", last, start), start
        value, start = _scan(text, start, file)
        yield make_row(value, line if has_lines else None)
    if start == len(text) or _skip(text, start + 1) < len(text):
        what = "it is cut off" if start == len(text) else "more follows the array"
        place = tell_place(text, min(start + 1, len(text)), 1)
        raise InvalidDataset(f"the file is no JSON array: {what} at {place}", field=file.field)


def _skip(text: str, start: int) -> int:
    """The place of the next value, or of what ends the text."""
    return found.end() if (found := _BETWEEN.match(text, start)) else start


def _scan(text: str, start: int, file: TextFile) -> tuple[Any, int]:
    try:
        return scan_row(text, start)
    except json.JSONDecodeError as error:
        what, place = f"is not valid JSON: {error.msg}", error.pos
    except LooseJson as error:
        what, place = str(error), start
    detail = f"the file {what}, {tell_place(text, place, 1)}, at {quote_around(text, place)}"
    raise InvalidDataset(detail, field=file.field)


def find_rows(value: Any, depth: int = 0) -> _Found | None:
    """The rows within a value; None if nothing in it can be rows."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return value, ""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    if found := _find_intents(value.get("intents")) or _find_intents(value) or _find_viewed(value):
        return found
    lists = {key: one for key, one in value.items() if isinstance(one, list) and one}
    tables = {key: one for key, one in lists.items() if isinstance(one[0], dict | list)}
    if tables and (key := _choose_table(tables)) is not None:
        rows = tables.pop(key)
        others_note = f", and not those of {_show_tables(tables)}" if tables else ""
        return rows, f"the rows of {_show_tables({key: rows})} are read{others_note}"
    if tables:
        return [], f"several lists in it may be the rows: {_show_tables(tables)}"
    inner = (found for one in value.values() if (found := find_rows(one, depth + 1)))
    return next(inner, None)


def _choose_table(tables: Mapping[str, Sequence[Any]]) -> str | None:
    """The training split, the only list, or the only one with texts and labels."""
    labelled = [
        key
        for key, (one, *_) in tables.items()
        if isinstance(one, dict) and all(find_usual(list(one), usual) for usual in (TEXT_NAMES, LABEL_NAMES))
    ]
    found = ["train"] if "train" in tables else labelled if len(labelled) == 1 else list(tables)
    return found[0] if len(found) == 1 else None


def _show_tables(tables: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(f"{key!r} ({show_count(len(one), 'row')})" for key, one in islice(tables.items(), 10))


def _find_viewed(value: Mapping[str, Any]) -> _Found | None:
    """The rows that the viewer of Hugging Face shows, with names of classes in place of their numbers."""
    match value:
        case {"features": [*features], "rows": [{"row": dict()}, *_] as rows}:
            types = {one.get("name"): one.get("type") for one in features if isinstance(one, dict)}
            classes = {name: one.get("names") for name, one in types.items() if isinstance(one, dict)}
            shown = [one["row"] for one in rows if isinstance(one, dict) and isinstance(one.get("row"), dict)]
            named = [{name: name_class(cell, classes.get(name)) for name, cell in row.items()} for row in shown]
            return named, "the rows of a viewer are read, with the names of their classes"
    return None


def _find_intents(value: object) -> _Found | None:
    """The rows of intents, each with a list of its texts: objects in a list, or by the name of the intent."""
    intents = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(intents, list) or len(intents) < 2 or not all(isinstance(one, dict) for one in intents):
        return None
    if (key := _find_texts(intents[:NAMED_ROWS])) is None:
        return None
    if isinstance(value, dict):
        intents = [{"label": label, key: one.get(key)} for label, one in value.items()]
    return intents, "the rows of its intents are read, one for each text"


def _find_texts(sample: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of the texts of intents, if the first rows are intents with several texts each, and no text beside."""
    for key in _TEXTS:
        lists = [one.get(key) for one in sample]
        texts = [text for one in lists if isinstance(one, list) for text in one if isinstance(text, str | dict)]
        if 1 < len(sample) < len(texts) and all(isinstance(one, list) for one in lists):
            others = {name for one in sample for name, value in one.items() if isinstance(value, str)}
            return None if find_usual(sorted(others - {"description"}), TEXT_NAMES) else key
    return None


def _spread(rows: Callable[[], Iterator[Row]], key: str) -> Iterator[Row]:
    """A row for each text of an intent, as files of chatbots have them."""
    for row in rows():
        texts = row.cells.get(key)
        for one in (texts or [None]) if isinstance(texts, list) else [texts]:
            yield row._replace(cells={**row.cells, key: None, "text": _read_utterance(one)})


def _read_utterance(value: object) -> object:
    """A text of an intent: a string, that of an object, or the pieces of one between its entities."""
    if not isinstance(value, dict):
        return value
    pieces = value.get("data")
    texts = [str(one.get("text", "")) for one in pieces if isinstance(one, dict)] if isinstance(pieces, list) else []
    return "".join(texts) if texts else value.get("text")

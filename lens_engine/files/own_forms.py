"""Texts in a form of their own: below the names of their intents (YAML as of Rasa, Markdown, files of Bot Framework),
with their label in the line (fastText), and tables of Weka (ARFF).
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO
from itertools import islice, takewhile
from typing import Any

import yaml

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import NEARLY_ALL
from lens_engine.files.delimited import Form, read_records
from lens_engine.files.json_rows import find_rows, make_row, make_table
from lens_engine.files.limits import DatasetTooLarge
from lens_engine.files.table import NO_CELLS, Fault, Row, Table
from lens_engine.files.text_file import TextFile

_RASA = "training data of Rasa"
_YAML = re.compile(r"(?:[ \t\r]*+(?:#.*+)?\n)*+(?:---[ \t\r]*\n|[\w-]+:(?:\s.*)?\n|- [\w-]+:\s.*\n)")
_ITEM = re.compile(r"^[ \t]*- ", re.MULTILINE)
_INTENT = re.compile(r"^[ \t]*-?[ \t]*intent[ \t]*:", re.MULTILINE)
_HEAD = re.compile(r"#+\s*(?:(intent)\s*:\s*)?(.*)")
_TEXT = re.compile(r"[-*+]\s+(.*)")
_OTHER_LINES = ("#", "-", "*", "+", ">", "@", "$", "!", "<!--")  #: how lines of lists of intents begin
_ENTITY = re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\{[^{}]*\})|\{@?[\w.:-]+\s*=\s*([^{}]*)\}")
"""Words that are marked as an entity: `[Berlin](city)`, `{@city=Berlin}`."""
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DEEPEST = 100
_VALUES_PER_ROW = 20  #: of YAML, which is read far slower than JSON
_LABEL, _DATA = "__label__", "@data"
_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
_ARFF = re.compile(r"\s*+(?:%.*+\s++)*+@relation\b", re.IGNORECASE)


def _make_table(read: Callable[[], Iterator[Row]], kind: str, file: TextFile) -> Table:
    return Table(("text", "label"), read, "text", file.dialect, kind, "text", "label", has_raw_bytes=True)


def read_lists(file: TextFile) -> Table | None:
    """The table of lists below headings of Markdown; None of another file."""
    lines = list(filter(None, map(str.strip, file.head_lines)))
    heads = [found for line in lines if (found := _HEAD.fullmatch(line))]
    is_rasa = any(found[1] for found in heads)
    is_list = sum(map(bool, map(_TEXT.fullmatch, lines))) >= len(heads) > 1
    if not is_list or not all(line.startswith(_OTHER_LINES) for line in lines):
        return None

    def read() -> Iterator[Row]:
        intent, num_others = None, 0
        for number, line in file.numbered_lines():
            if intent and not intent.startswith("?") and (text := _TEXT.fullmatch(line)):
                yield Row({"text": _read_words(text[1]), "label": intent}, number)
                continue
            if head := _HEAD.fullmatch(line):
                intent = head[2].strip() if head[1] or not is_rasa else None
            num_others += 1
            file.limits.check_blank(num_others, file.field)

    return _make_table(read, _RASA if is_rasa else "a file of Bot Framework", file)


def _read_words(text: str) -> str:
    return _ENTITY.sub(lambda found: found[1] or found[2] or "", text)


def read_yaml(file: TextFile) -> Table | None:
    """The table of a YAML file with intents or rows; None of another file."""
    if not _YAML.match(file.head) or not _ITEM.search(file.head):
        return None
    try:
        value = _load(file)
    except (yaml.YAMLError, UnicodeError) as error:
        if not _INTENT.search(file.head):
            return None
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" (line {mark.line + 1:,})"
        told = f"the file is no valid YAML{place}; save it as CSV or JSON Lines"
        raise InvalidDataset(told, field=file.field) from None
    if isinstance(value, dict) and isinstance(value.get("nlu"), list):
        file.limits.check_rows(len(value["nlu"]), file.field)
        rows = list(islice(_read_rasa(value["nlu"]), file.limits.max_rows + 1))
        return _make_table(lambda: iter(rows), _RASA, file)
    items, _ = find_rows(value) or ([], "")
    file.limits.check_rows(len(items), file.field)
    return make_table(lambda: map(make_row, items), "text", file) if items else None


def _read_rasa(intents: list[Any]) -> Iterator[Row]:
    for one in intents:
        if isinstance(one, dict) and "intent" in one:
            examples = one.get("examples")
            if isinstance(examples, str):
                found = map(_TEXT.fullmatch, map(str.strip, StringIO(examples)))
                examples = (text[1] for text in found if text)
            for text in examples or ():
                text = text.get("text") if isinstance(text, dict) else text
                words = _read_words(text.strip()) if isinstance(text, str) else text
                yield Row({"text": words, "label": one["intent"]})


def _load(file: TextFile) -> Any:
    """The value of a file of YAML, with strings for all that is no list or object."""
    text, most, depth = file.text, _VALUES_PER_ROW * file.limits.max_rows, 0
    for number, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        if number > most:
            raise DatasetTooLarge(f"the file holds more than {most:,} values; send a sample of it", field=file.field)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
            raise yaml.YAMLError("it is nested too deeply, or repeats parts")
    return yaml.load(text, Loader=_LOADER)


def read_fast_text(file: TextFile) -> Table | None:
    """The table of a file of fastText; None of another file."""
    first = [line.strip() for line in file.head_lines if line.strip()]
    labelled = sum(bool(_split_labels(line)["label"]) for line in first)
    if not first or _LABEL not in first[0] or labelled < NEARLY_ALL * len(first):  # a header is of another table
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


def read_arff(file: TextFile) -> Table | None:
    """The table of an ARFF file; None of another file."""
    if not _ARFF.match(file.head):
        return None
    found = list[re.Match[str]]()
    for number, (_, line) in enumerate(takewhile(lambda one: one[1].casefold() != _DATA, file.numbered_lines())):
        file.limits.check_blank(number - len(found), file.field)
        found += filter(None, [_ATTRIBUTE.fullmatch(line)])
    if not found:
        raise InvalidDataset("the file is an ARFF file without attributes; save it as CSV", field=file.field)
    names = [one[1].strip("'\"") for one in found]
    nominal = [name for name, one in zip(names, found, strict=True) if one[2].startswith("{")]
    label = nominal[0] if len(nominal) == 1 else None
    rows = partial(_read_arff_rows, file, names)
    return Table(tuple(names), rows, "text", file.dialect, "an ARFF file", label=label, has_raw_bytes=True)


def _read_arff_rows(file: TextFile, names: list[str]) -> Iterator[Row]:
    lines = file.lines("")
    start = 1 + sum(1 for _ in takewhile(lambda line: line.strip().casefold() != _DATA, lines))
    singles, doubles = (sum(line.count(f",{one}") + line.startswith(one) for line in file.head_lines) for one in "'\"")
    form = Form(",", '"' if doubles > singles else "'", skips_spaces=True)
    escaped, letter = f"\\{form.quote}", 2 * form.quote
    content = (line.replace(escaped, letter) if not line.lstrip().startswith("%") else "\n" for line in lines)
    for record in read_records(content, form, file.limits.max_row_characters):
        number = start + record.line
        if record.fault is not None:
            yield Row(NO_CELLS, number, record.fault)
        elif record.is_blank:
            yield Row(NO_CELLS, number, empty="line")
        elif len(record.fields) != len(names):
            detail = f"has {len(record.fields):,} values for {len(names):,} attributes"
            yield Row(NO_CELLS, number, Fault("of another width than the attributes", detail))
        else:
            values = (None if value.strip() == "?" else value.strip() for value in record.fields)
            yield Row(dict(zip(names, values, strict=True)), number)

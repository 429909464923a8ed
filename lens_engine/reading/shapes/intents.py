"""Texts below the names of their intents: in YAML as of Rasa, in Markdown, and in files of Bot Framework (.lu)."""

import re
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any

import yaml

from lens_engine.errors import InvalidDataset
from lens_engine.reading.limits import DatasetTooLarge
from lens_engine.reading.shapes.json_rows import find_rows
from lens_engine.reading.shapes.json_values import make_row, make_table
from lens_engine.reading.shapes.text_file import TextFile
from lens_engine.reading.table import Row, Table

_RASA, _BOT_FRAMEWORK = "training data of Rasa", "a file of Bot Framework"
_YAML = re.compile(r"(?:[ \t\r]*+(?:#.*+)?\n)*+(?:---[ \t\r]*\n|[\w-]+:(?:\s.*)?\n|- [\w-]+:\s.*\n)")
_ITEM = re.compile(r"^[ \t]*- ", re.MULTILINE)
_HEAD = re.compile(r"#+\s*(?:(intent)\s*:\s*)?(.*)")
_TEXT = re.compile(r"[-*+]\s+(.*)")
_OTHER_LINES = ("#", "-", "*", "+", ">", "@", "$", "!", "<!--")  #: how lines of lists of intents begin
_ENTITY = re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\{[^{}]*\})|\{@?[\w.:-]+\s*=\s*([^{}]*)\}")
"""Words that are marked as an entity: `[Berlin](city)`, `{@city=Berlin}`."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 100
_VALUES_PER_ROW = 20  #: of YAML, which is read far slower than JSON


def read_intents(file: TextFile) -> Table | None:
    """The table of a file of intents, or of another YAML file with rows; None of another file."""
    return _read_lists(file) or _read_yaml(file)


def _read_lists(file: TextFile) -> Table | None:
    """The table of lists below headings of Markdown."""
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

    return _make_table(read, _RASA if is_rasa else _BOT_FRAMEWORK, file)


def _read_words(text: str) -> str:
    return _ENTITY.sub(lambda found: found[1] or found[2] or "", text)


def _make_table(read: Any, kind: str, file: TextFile) -> Table:
    return Table(("text", "label"), read, "text", file.dialect, kind, "text", "label", has_raw_bytes=True)


def _read_yaml(file: TextFile) -> Table | None:
    if not _YAML.match(file.head) or not _ITEM.search(file.head):
        return None
    try:
        value = _load(file)
    except (yaml.YAMLError, UnicodeError) as error:
        if not re.search(r"^[ \t]*-?[ \t]*intent[ \t]*:", file.head, re.MULTILINE):
            return None
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" (line {mark.line + 1:,})"
        raise InvalidDataset(
            f"the file is no valid YAML{place}; save it as CSV or JSON Lines", field=file.field
        ) from None
    if isinstance(value, dict) and isinstance(value.get("nlu"), list):
        rows = list(islice(_read_rasa(value["nlu"]), file.limits.max_rows + 1))
        return _make_table(lambda: iter(rows), _RASA, file)
    items, _ = find_rows(value) or ([], "")
    return make_table(lambda: map(make_row, items), "text", file) if items else None


def _read_rasa(intents: list[Any]) -> Iterator[Row]:
    for one in intents:
        if isinstance(one, dict) and "intent" in one:
            examples = one.get("examples")
            if isinstance(examples, str):
                found = map(_TEXT.fullmatch, map(str.strip, StringIO(examples)))
                texts: Iterator[object] = (text[1] for text in found if text)
            else:
                texts = (text.get("text") if isinstance(text, dict) else text for text in examples or ())
            for text in texts:
                yield Row(
                    {"text": _read_words(text.strip()) if isinstance(text, str) else text, "label": one["intent"]}
                )


def _load(file: TextFile) -> Any:
    """The value of a file of YAML, with strings for all that is no list or object.

    Raises:
        DatasetTooLarge: a list has more items than a dataset rows, or the file far more values.
        yaml.YAMLError: it is no YAML, is nested too deeply, or repeats parts by their names.
    """
    root: list[Any] = []
    stack: list[Any] = [root]
    keys: list[Any] = [None]
    most = _VALUES_PER_ROW * file.limits.max_rows
    for number, event in enumerate(yaml.parse(file.text, Loader=_LOADER)):
        if number > most:
            raise DatasetTooLarge(f"the file holds more than {most:,} values; send a sample of it", field=file.field)
        if isinstance(event, yaml.AliasEvent) or len(stack) > _DEEPEST:
            raise yaml.YAMLError("it is nested too deeply, or repeats parts")
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            keys.pop()
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            is_map = isinstance(event, yaml.MappingStartEvent)
            value: Any = event.value if isinstance(event, yaml.ScalarEvent) else {} if is_map else []
            if isinstance(stack[-1], list):
                stack[-1].append(value)
                file.limits.check_rows(len(stack[-1]), file.field)
            elif keys[-1] is None:
                keys[-1] = str(value) if isinstance(value, str) else "?"
            else:
                stack[-1][keys[-1]] = value
                keys[-1] = None
            if not isinstance(value, str):
                stack.append(value)
                keys.append(None)
    return root[0] if root else None

"""Lines in a form of their own: fastText, intents of Rasa, and tables of Weka (ARFF)."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import takewhile

from lens_engine.errors import InvalidDataset
from lens_engine.reading.shapes.text_file import Quoting, TextFile, read_records
from lens_engine.reading.table import NO_CELLS, Fault, Row, Table

_LABEL = "__label__"
_NEARLY_ALL = 0.9
_MOST_OTHERS = 10  #: lines of keys for each example of Rasa
_INTENT = re.compile(r"-?\s*intent\s*:\s*[\"']?([^\"'#\s][^\"'#]{0,200}?)[\"']?\s{0,9}(?:#.*)?|##\s*intent\s*:\s*(.+)")
_EXAMPLE = re.compile(r"[-*]\s+(text:\s*)?(\S.*)", re.DOTALL)
_TEXT_BELOW = re.compile(r"(\s*-\s+)text:\s*[|>][-+]?\s*")
_ENTITY = re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\{[^{}]*\})")
"""Words that Rasa marks as an entity: `[Berlin](city)`."""

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


def read_rasa(file: TextFile) -> Table | None:
    """The table of training data of Rasa, in YAML or Markdown; None of another file."""
    lines = [line.strip() for line in file.head_lines if line.strip() and not line.lstrip().startswith("#  ")]
    starts = [line for line in lines if _INTENT.fullmatch(line)]
    if not starts or not ("nlu:" in lines or any(line.startswith("## intent:") for line in lines)):
        return None

    is_flat = any(line.startswith("nlu:") for line in file.head_lines)  # not below another key

    def read() -> Iterator[Row]:
        intent, is_nlu, num_others = None, True, 0
        for number, raw in _lift_texts(file.lines(""), file.limits.max_row_characters):
            num_others += 1
            file.limits.check_blank(num_others, file.field)
            if found := _INTENT.fullmatch(line := raw.strip()):
                intent = (found[1] or found[2]).strip() if is_nlu or found[2] else None
            elif key := re.match(r"(\w+):", raw):  # not indented: what follows are stories, answers
                intent, is_nlu = None, key[1] == "nlu" or not is_flat
            elif re.match(r"-?\s*(?:synonym|regex|lookup|rule|story)\s*:|##", line):
                intent = None
            elif intent is not None and (example := _EXAMPLE.fullmatch(line)):
                text = _read_value(example[2]) if example[1] else example[2]
                num_others -= _MOST_OTHERS
                yield Row({"text": _ENTITY.sub(r"\1", text), "label": intent}, number)

    return _make_table(read, "training data of Rasa", file)


def _lift_texts(lines: Iterator[str], longest: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers. A text of YAML in the deeper lines below `- text: |` is lifted into that line, up to
    `longest` characters.
    """
    start, column, text = 0, 0, ""
    for number, line in enumerate(lines, start=1):
        is_deeper = column and (line.isspace() or len(line) - len(line.lstrip()) > column)
        if is_deeper and len(text) <= longest:
            text += f"{line.strip()}\n"
            continue
        yield start, text
        below = _TEXT_BELOW.fullmatch(line)
        start, column, text = (number, below.end(1), below[1]) if below else (number, 0, line)
    yield start, text


def _read_value(value: str) -> str:
    """A value of YAML without the quotes in which it may be written."""
    if value.startswith('"'):
        with suppress(ValueError):
            return str(json.loads(value))
    return value[1:-1].replace("''", "'") if re.fullmatch("'.*'", value) else value


def _make_table(read: Callable[[], Iterator[Row]], kind: str, file: TextFile) -> Table:
    return Table(("text", "label"), read, "text", file.dialect, kind, "text", "label", has_raw_bytes=True)


def read_arff(file: TextFile) -> Table | None:
    """The table of an ARFF file; None of another file. Rows that are written as index and value are refused."""
    if not _ARFF.match(file.head):
        return None
    names, nominal = list[str](), list[str]()
    is_sparse = has_data = False
    for number, line in file.numbered_lines():
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
    quoting = Quoting("'", has_escapes=True)
    for record in read_records(_unify(content), ",", quoting, file.limits.max_row_characters):
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


def _unify(lines: Iterator[str]) -> Iterator[str]:
    """The lines, with single quotes round the values that have double ones, and no spaces before quotes."""
    for line in lines:
        if '"' in line:
            line = re.sub(r'(^|,)\s*"((?:[^"\\]|\\.)*)"\s*(?=,|$)', _requote, line)
        yield re.sub(r",\s+'", ",'", line)


def _requote(found: re.Match[str]) -> str:
    return f"{found[1]}'{found[2].replace(chr(92) + chr(34), chr(34)).replace(chr(39), chr(39) * 2)}'"

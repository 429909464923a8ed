# ruff: noqa: E501
"""The same labelled texts in every shape that is read, as bytes."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

import pyarrow
from dataset_uploads import write_csv, write_jsonl, write_parquet

LABELS = ("billing", "delivery", "account")
ROWS = [(f"Message number {number}, and please answer", LABELS[number % 3]) for number in range(30)]
Rows = Sequence[tuple[str, str]]


def lines(items: Sequence[object]) -> bytes:
    return "".join(f"{json.dumps(item)}\n" for item in items).encode()


def array(items: object) -> bytes:
    return json.dumps(items, indent=1).encode()


def xlsx(*sheets: Sequence[Sequence[str]], hidden: str = "", **others: Iterable[str]) -> bytes:
    """A workbook of these sheets; `hidden` is the name of one that is not shown, `others` take the place of parts."""
    strings = list(dict.fromkeys(cell for rows in sheets for row in rows for cell in row))
    places = {cell: place for place, cell in enumerate(strings)}

    def write_row(number: int, row: Sequence[str]) -> str:
        cells = (f'<c r="{chr(65 + place)}{number}" t="s"><v>{places[cell]}</v></c>' for place, cell in enumerate(row))
        return f'<row r="{number}">{"".join(cells)}</row>'

    names = [f"sheet{number}" for number in range(1, len(sheets) + 1)]
    listed = "".join(f'<sheet name="{name}" sheetId="{name[5:]}" r:id="rId{name[5:]}"/>' for name in names)
    listed = listed.replace(f'name="{hidden}"', f'name="{hidden}" state="hidden"')
    parts = {
        "[Content_Types].xml": '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": _relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"<workbook {MAIN} {_REL}><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            *(("worksheet", f"worksheets/{name}.xml") for name in names), ("sharedStrings", "sharedStrings.xml")
        ),
        "xl/sharedStrings.xml": f"<sst {MAIN}>{''.join(f'<si><t>{escape(one)}</t></si>' for one in strings)}</sst>",
    }
    for name, rows in zip(names, sheets, strict=True):
        written = "".join(write_row(number, row) for number, row in enumerate(rows, start=1))
        parts[f"xl/worksheets/{name}.xml"] = f"<worksheet {MAIN}><sheetData>{written}</sheetData></worksheet>"
    return zipped({name: others.get(name.split("/")[-1].removesuffix(".xml"), part) for name, part in parts.items()})


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_REL = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def _relations(*targets: tuple[str, str]) -> str:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    found = "".join(
        f'<Relationship Id="rId{number}" Type="{kind}/{name}" Target="{target}"/>'
        for number, (name, target) in enumerate(targets, start=1)
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{found}</Relationships>'
    )


def zipped(parts: Mapping[str, Iterable[str]]) -> bytes:
    """An archive of parts, which are strings or pieces of strings."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in parts.items():
            with archive.open(name, "w") as part:
                for piece in [pieces] if isinstance(pieces, str) else pieces:
                    part.write(piece.encode())
    return file.getvalue()


def arrow(rows: Rows, new: Callable[..., Any]) -> bytes:
    table = pyarrow.table({"text": [text for text, _ in rows], "label": [label for _, label in rows]})
    file = pyarrow.BufferOutputStream()
    with new(file, table.schema) as writer:
        writer.write_table(table)
    return bytes(file.getvalue())


def rasa(rows: Rows) -> bytes:
    by_label = {label: [text for text, one in rows if one == label] for label in dict.fromkeys(one for _, one in rows)}
    intents = "".join(
        f"- intent: {label}\n  examples: |\n" + "".join(f"    - {text}\n" for text in texts)
        for label, texts in by_label.items()
    )
    return f'version: "3.1"\nnlu:\n{intents}- synonym: bill\n  examples: |\n    - invoice\n'.encode()


def label_studio(rows: Rows) -> list[object]:
    return [
        {
            "id": number,
            "data": {"text": text},
            "annotations": [{"result": [{"from_name": "topic", "value": {"choices": [label]}}]}],
        }
        for number, (text, label) in enumerate(rows)
    ]


def arff(rows: Rows) -> bytes:
    data = "".join(f"'{text}',{label}\n" for text, label in rows)
    return f"% made\n@RELATION rows\n@ATTRIBUTE text string\n@ATTRIBUTE class {{{','.join(LABELS)}}}\n@DATA\n{data}".encode()


def by_label(rows: Rows) -> dict[str, list[str]]:
    return {label: [text for text, one in rows if one == label] for label in LABELS}


SHAPES: dict[str, Callable[[Rows], bytes]] = {
    "csv": write_csv,
    "tsv without a header": lambda rows: "".join(f"{text}\t{label}\n" for text, label in rows).encode(),
    "csv without a header, label first": lambda rows: "".join(f'{label},"{text}"\n' for text, label in rows).encode(),
    "semicolons without a header": lambda rows: "".join(f"{text};{label}\n" for text, label in rows).encode(),
    "unquoted commas, label first": lambda rows: (
        "label,text\n" + "".join(f"{label},{text}\n" for text, label in rows)
    ).encode(),
    "jsonl": write_jsonl,
    "lists a line": lines,
    "json array": lambda rows: array([{"text": text, "label": label} for text, label in rows]),
    "json array in one line": lambda rows: json.dumps(
        [{"text": text, "label": label} for text, label in rows]
    ).encode(),
    "json array of pairs": array,
    "data key": lambda rows: array({"version": 1, "data": [{"text": text, "label": label} for text, label in rows]}),
    "nested rows": lambda rows: array({"rows": [{"row": {"text": text, "label": label}} for text, label in rows]}),
    "splits": lambda rows: array({"train": list(rows), "test": [["x", "billing"]]}),
    "lists of one": lambda rows: lines([{"text": text, "label": [label]} for text, label in rows]),
    "lists of one in csv": lambda rows: (
        "text,labels\n" + "".join(f'"{text}","[\'{label}\']"\n' for text, label in rows)
    ).encode(),
    "labels of an issue tracker": lambda rows: array(
        [
            {"title": text, "user": {"login": "ann"}, "labels": [{"id": 7, "name": label, "color": "f00"}]}
            for text, label in rows
        ]
    ),
    "label objects": lambda rows: lines([{"text": text, "label": {"id": 1, "name": label}} for text, label in rows]),
    "Label Studio": lambda rows: array(label_studio(rows)),
    "Label Studio (JSON-MIN)": lambda rows: array(
        [
            {"id": 1, "text": text, "sort": label, "annotator": 1, "annotation_id": 2, "lead_time": 1.5}
            for text, label in rows
        ]
    ),
    "Label Studio (CSV)": lambda rows: (
        "annotation_id,annotator,body,sort\n" + "".join(f'1,2,"{text}",{label}\n' for text, label in rows)
    ).encode(),
    "Doccano": lambda rows: lines([{"id": 1, "text": text, "label": [label], "Comments": []} for text, label in rows]),
    "Prodigy (choice)": lambda rows: lines(
        [{"text": text, "options": [], "accept": [label], "answer": "accept"} for text, label in rows]
        + [{"text": "unclear", "options": [], "accept": [], "answer": "ignore"}]
    ),
    "LangSmith": lambda rows: lines(
        [{"inputs": {"question": text}, "outputs": {"answer": label}} for text, label in rows]
    ),
    "OpenAI chat": lambda rows: lines(
        [
            {"messages": [{"role": role, "content": words} for role, words in turns]}
            for turns in (
                *([("system", "Say the topic."), ("user", text), ("assistant", label)] for text, label in rows),
                [("user", rows[0][0]), ("assistant", rows[0][1]), ("user", "not answered")],
            )
        ]
    ),
    "completions": lambda rows: lines(
        [{"prompt": f"{text}\n\n###\n\n", "completion": f" {label}"} for text, label in rows]
    ),
    "fastText": lambda rows: "".join(f"__label__{label} {text}\n" for text, label in rows).encode(),
    "fastText, label last": lambda rows: "".join(f"{text} __label__{label}\n" for text, label in rows).encode(),
    "intents of a chatbot": lambda rows: json.dumps(
        {"intents": [{"tag": label, "patterns": texts, "responses": ["ok"]} for label, texts in by_label(rows).items()]}
    ).encode(),
    "intents with texts": lambda rows: array(
        {"intents": [{"intent": label, "text": texts, "responses": ["ok"]} for label, texts in by_label(rows).items()]}
    ),
    "viewer of Hugging Face": lambda rows: array(
        {
            "features": [
                {"feature_idx": 0, "name": "text", "type": {"dtype": "string", "_type": "Value"}},
                {"feature_idx": 1, "name": "label", "type": {"names": list(LABELS), "_type": "ClassLabel"}},
            ],
            "rows": [{"row_idx": 0, "row": {"text": text, "label": LABELS.index(label)}} for text, label in rows],
        }
    ),
    "Bot Framework": lambda rows: (
        "> made by hand\n"
        + "".join(f"# {label}\n" + "".join(f"- {text}\n" for text in texts) for label, texts in by_label(rows).items())
    ).encode(),
    "YAML": lambda rows: "".join(f"- text: {json.dumps(text)}\n  label: {label}\n" for text, label in rows).encode(),
    "intents in YAML": lambda rows: (
        "intents:\n"
        + "".join(
            f"  - intent: {label}\n    examples:\n" + "".join(f"      - {json.dumps(text)}\n" for text in texts)
            for label, texts in by_label(rows).items()
        )
    ).encode(),
    "OpenAI evals": lambda rows: lines(
        [{"input": [{"role": "user", "content": text}], "ideal": label} for text, label in rows]
    ),
    "Rasa": rasa,
    "Rasa (Markdown)": lambda rows: "".join(
        f"## intent:{label}\n" + "".join(f"- {text}\n" for text in texts) for label, texts in by_label(rows).items()
    ).encode(),
    "ARFF": arff,
    "parquet": write_parquet,
    "Arrow stream": lambda rows: arrow(rows, pyarrow.ipc.new_stream),
    "Arrow file": lambda rows: arrow(rows, pyarrow.ipc.new_file),
    "xlsx": lambda rows: xlsx([("text", "label"), *rows]),
    "xlsx without a header": xlsx,
    "xlsx with a title": lambda rows: xlsx([("Tickets of May",), ("text", "label"), *rows]),
    "xlsx with a title of two cells": lambda rows: xlsx([("Tickets", "2024-05-01"), (), ("text", "label"), *rows]),
    "xlsx with a hidden sheet": lambda rows: xlsx(
        [("label", "description"), ("billing", "of bills")], [("Message", "Queue"), *rows], hidden="sheet1"
    ),
    "xlsx with one sheet, which is hidden": lambda rows: xlsx([("text", "label"), *rows], hidden="sheet1"),
    "xlsx after a cover": lambda rows: xlsx(
        [("Column", "Meaning"), ("text", "what they wrote")], [("text", "label"), *rows]
    ),
}
"""A writer for each."""

"""`jsonl`: text and label word of each support example; the order of the lines is the order of the prompt."""

import json

from lens_engine.exports.contract import Format, Source


def write(source: Source) -> str:
    rows = ({"text": text, "label": word} for text, word in source.demonstrations)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


JSONL = Format(write, "application/jsonl", ".jsonl")

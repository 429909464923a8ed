"""`json`: everything, without loss; the source of the others."""

import json

from lens_engine.exports.contract import Format, Source


def write(source: Source) -> str:
    shown = {
        "model": source.model,
        "task": source.task.model_dump(mode="json"),
        "support_examples": source.answer.model_dump(mode="json"),
    }
    if source.note is not None:
        shown = {"note": source.note, **shown}
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


JSON = Format(write, "application/json", ".json", has_text=True, has_turns=True)

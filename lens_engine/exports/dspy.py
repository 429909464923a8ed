"""`dspy`: the state of `dspy.Predict("text -> label")`, which its method `load` reads."""

import json
from typing import Any

from lens_engine.exports.contract import Format, Source


def write(source: Source) -> str:
    fields = [{"prefix": f"{name.title()}:", "description": f"${{{name}}}"} for name in ("text", "label")]
    shown: dict[str, Any] = {
        "traces": [],
        "train": [],
        "demos": [{"text": text, "label": word} for text, word in source.demonstrations],
        "signature": {"instructions": source.system, "fields": fields},
        "lm": None,
        "metadata": {"dependency_versions": {}},
    }
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


DSPY = Format(write, "application/json", ".json")

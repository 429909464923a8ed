"""`dspy`: the state of `dspy.Predict("text -> label")`, which its method `load` reads."""

import json
import textwrap
from typing import Any

from lens_engine.exports.contract import SLOT, Format, Source

_TEXT, _LABEL, _END = (f"[[ ## {name} ## ]]" for name in ("text", "label", "completed"))
_SYSTEM = f"""\
Your input fields are:
1. `text` (str):
Your output fields are:
1. `label` (str):
All interactions will be structured in the following way, with the appropriate values filled in.

{_TEXT}
{{text}}

{_LABEL}
{{label}}

{_END}
In adhering to this structure, your objective is: """
_REQUEST = (
    f"Respond with the corresponding output fields, starting with the field `{_LABEL}`, and then ending with the "
    f"marker for `{_END}`."
)


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


def write_messages(source: Source) -> list[dict[str, str]]:
    """What `dspy.ChatAdapter` sends for this state; it strips a demonstration, and not the input."""
    objective = textwrap.dedent(source.system).splitlines()
    turns = [{"role": "system", "content": _SYSTEM + "".join(f"\n{' ' * 8}{line}" for line in objective)}]
    for text, word in source.demonstrations:
        turns += [
            {"role": "user", "content": f"{_TEXT}\n{text}".rstrip()},
            {"role": "assistant", "content": f"{_LABEL}\n{word}".rstrip() + f"\n\n{_END}\n"},
        ]
    return [
        *turns,
        {"role": "user", "content": f"{_TEXT}\n{{{SLOT}}}\n\n{_REQUEST}"},
        {"role": "assistant", "content": f"{_LABEL}\n"},
    ]


DSPY = Format(write, "application/json", ".json", write_messages)

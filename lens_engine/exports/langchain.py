"""`langchain`: a ChatPromptTemplate in the form of `langchain_core.load`, with the input variable `text`.

Load it with `langchain_core.load.loads`. The braces of the texts are doubled once, because the templates are f-strings.
"""

import json
from typing import Any

from lens_engine.exports.contract import SLOT, Format, Source
from lens_engine.exports.openai_chat import write_turns

_KINDS = {"system": "System", "user": "Human", "assistant": "AI"}


def write(source: Source) -> str:
    turns, before, after = write_turns(source)
    messages = [_message(one["role"], _double(one["content"])) for one in turns]
    messages.append(_message("user", f"{_double(before)}{{{SLOT}}}{_double(after)}", SLOT))
    shown = _build(("chat", "ChatPromptTemplate"), input_variables=[SLOT], messages=messages)
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


def _message(role: str, template: str, *variables: str) -> dict[str, Any]:
    prompt = _build(
        ("prompt", "PromptTemplate"), input_variables=list(variables), template=template, template_format="f-string"
    )
    return _build(("chat", f"{_KINDS[role]}MessagePromptTemplate"), prompt=prompt)


def _build(path: tuple[str, str], **kwargs: object) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", *path], "kwargs": kwargs}


def _double(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


LANGCHAIN = Format(write, "application/json", ".json", has_turns=True)

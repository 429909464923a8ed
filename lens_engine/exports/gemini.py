"""`gemini`: turns for the Gemini API, which calls the assistant `model`; a system message as `openai-chat` has it."""

import json

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.openai_chat import part_system

_ROLES = {"user": "user", "assistant": "model"}


def write(source: Source) -> str:
    system, turns = part_system(source)
    shown = {} if system is None else {"systemInstruction": {"parts": [{"text": system}]}}
    contents = [{"role": _ROLES[one["role"]], "parts": [{"text": one["content"]}]} for one in turns]
    return json.dumps({**shown, "contents": contents}, ensure_ascii=False, indent=2) + "\n"


GEMINI = Format(write, "application/json", ".json", has_turns=True)

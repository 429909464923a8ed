"""`gemini`: turns for the Gemini API, which calls the assistant `model`; a system message as `openai-chat` has it."""

import json

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.openai_chat import write_messages, write_turns

_ROLES = {"user": "user", "assistant": "model"}


def write(source: Source) -> str:
    turns = [{"role": _ROLES[one["role"]], "parts": [{"text": one["content"]}]} for one in write_turns(source)]
    needed = source.needed_system
    system = {} if needed is None else {"systemInstruction": {"parts": [{"text": needed}]}}
    return json.dumps({**system, "contents": turns}, ensure_ascii=False, indent=2) + "\n"


GEMINI = Format(write, "application/json", ".json", write_messages, has_turns=True)

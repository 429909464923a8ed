"""`anthropic`: turns for the Messages API of Anthropic, whose system prompt is no message."""

import json

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.openai_chat import write_turns


def write(source: Source) -> str:
    shown = {"system": source.system, "messages": write_turns(source)}
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


def write_messages(source: Source) -> list[dict[str, str]]:
    return [{"role": "system", "content": source.system}, *write_turns(source)]


ANTHROPIC = Format(write, "application/json", ".json", write_messages, has_turns=True)

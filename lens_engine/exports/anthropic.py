"""`anthropic`: turns for the Messages API of Anthropic, whose system prompt is no message."""

import json

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.openai_chat import part_system


def write(source: Source) -> str:
    system, turns = part_system(source)
    shown = {**({} if system is None else {"system": system}), "messages": turns}
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


ANTHROPIC = Format(write, "application/json", ".json", has_turns=True)

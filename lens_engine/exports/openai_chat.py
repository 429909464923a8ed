"""`openai-chat`: turns for chat completions, after a system message that names the label words. The last message is the
place of the live input.

A chat has the messages that were evaluated: if its server takes no system message, that text begins the first turn.
"""

import json

from lens_engine.exports.contract import SLOT, Format, Source
from lens_engine.task.chat import Turn, lift_system


def write(source: Source) -> str:
    return json.dumps({"messages": write_messages(source)}, ensure_ascii=False, indent=2) + "\n"


def write_messages(source: Source) -> list[Turn]:
    turns, before, after = write_turns(source)
    return [*turns, {"role": "user", "content": f"{before}{{{SLOT}}}{after}"}]


def write_turns(source: Source) -> tuple[list[Turn], str, str]:
    """All turns but the last, of the user; and what that has before the live input, and after."""
    before, after = source.around_input
    turns = [{"role": "system", "content": source.system}]
    for text, word in source.demonstrations:
        turns += [{"role": "user", "content": f"{before}{text}{after}"}, {"role": "assistant", "content": word}]
    is_in_turn = source.task.chat is not None and source.task.chat.system_in_turn
    *turns, last = lift_system([*turns, {"role": "user", "content": before}], is_in_turn)
    return turns, last["content"], after


def part_system(source: Source) -> tuple[str | None, list[Turn]]:
    """The system message, if it is no turn, and the turns; for an API whose system message is no turn."""
    first, *others = messages = write_messages(source)
    return (first["content"], others) if first["role"] == "system" else (None, messages)


OPENAI_CHAT = Format(write, "application/json", ".json", has_turns=True)

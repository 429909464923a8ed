"""`openai-chat`: turns for chat completions. The last message is the place of the live input.

Without demonstrations, or after an instruction, a system message names the label words. A chat has the system message
that was evaluated.
"""

import json

from lens_engine.exports.contract import SLOT, Format, Source


def write(source: Source) -> str:
    return json.dumps({"messages": write_messages(source)}, ensure_ascii=False, indent=2) + "\n"


def write_messages(source: Source) -> list[dict[str, str]]:
    system = [] if source.needed_system is None else [{"role": "system", "content": source.needed_system}]
    return [*system, *write_turns(source)]


def write_turns(source: Source, slot: str = f"{{{SLOT}}}") -> list[dict[str, str]]:
    """User and assistant in turn, and the live input last."""
    turns, (before, after) = [], source.around_input
    for text, word in source.demonstrations:
        turns += [{"role": "user", "content": f"{before}{text}{after}"}, {"role": "assistant", "content": word}]
    return [*turns, {"role": "user", "content": f"{before}{slot}{after}"}]


OPENAI_CHAT = Format(write, "application/json", ".json", write_messages, has_turns=True)

"""`text`: the prompt that was evaluated. The last `{text}` is the place of the live input; add no space after it.

Of a chat: its turns, as JSON, a line each.
"""

from lens_engine.exports.contract import SLOT, Format, Source
from lens_engine.task.chat import lift_system, read_turns, write_turns


def write(source: Source) -> str:
    prompt = source.answer.prompt + source.task.task().render_query(f"{{{SLOT}}}")
    return prompt if source.task.chat is None else write_turns(lift_system(read_turns(prompt)))


TEXT = Format(write, "text/plain; charset=utf-8", ".txt", has_text=True, has_turns=True)

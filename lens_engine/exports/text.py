"""`text`: the prompt that was evaluated. The last `{text}` is the place of the live input; add no space after it.

Of a chat: its turns, as JSON, a line each.
"""

from lens_engine.exports.contract import SLOT, Format, Source


def write(source: Source) -> str:
    return source.task.task().join_prompt(source.answer.prompt, f"{{{SLOT}}}")


TEXT = Format(write, "text/plain; charset=utf-8", ".txt", has_text=True, has_turns=True)

"""`text`: the prompt that was evaluated. The last `{text}` is the place of the live input; add no space after it."""

from lens_engine.exports.contract import SLOT, Format, Source


def write(source: Source) -> str:
    return source.answer.prompt + source.task.task().render_query(f"{{{SLOT}}}")


TEXT = Format(write, "text/plain; charset=utf-8", ".txt", is_evaluated_prompt=True)

"""`markdown`: the support examples for people to read."""

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.text import write as write_prompt
from lens_engine.show.markdown import write_cell, write_fence
from lens_engine.task.wording import show_count


def write(source: Source) -> str:
    answer, number = source.answer, len(source.demonstrations)
    numbered = enumerate(answer.examples, start=1)
    rows = [f"| {place} | {write_cell(one.label)} | {write_cell(one.text)} |" for place, one in numbered]
    lines = [
        f"# {show_count(number, 'support example')}{f' for {source.model}' if source.model else ''}",
        "",
        answer.reason,
        "",
        *([source.note, ""] if source.note is not None else []),
        *(["| | label | text |", "|---|---|---|", *rows, ""] if rows else []),
        "The prompt, with `{text}` in place of the live input:",
        "",
        write_fence(write_prompt(source)),
    ]
    return "\n".join(lines) + "\n"


MARKDOWN = Format(write, "text/markdown; charset=utf-8", ".md")

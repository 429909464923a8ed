"""`markdown`: the support examples for people to read."""

import re

from lens_engine.exports.contract import Format, Source
from lens_engine.exports.text import write as write_prompt
from lens_engine.task.wording import show_count

_BACKTICKS = re.compile("`+")


def write(source: Source) -> str:
    answer, number, prompt = source.answer, len(source.demonstrations), write_prompt(source)
    numbered = enumerate(answer.examples, start=1)
    rows = [f"| {place} | {_cell(one.label)} | {_cell(one.text)} |" for place, one in numbered]
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(prompt)), default=0))
    lines = [
        f"# {show_count(number, 'support example')}{f' for {source.model}' if source.model else ''}",
        "",
        answer.reason,
        "",
        *(["| | label | text |", "|---|---|---|", *rows, ""] if rows else []),
        "The prompt, with `{text}` in place of the live input:",
        "",
        f"{fence}text",
        prompt,
        fence,
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())


MARKDOWN = Format(write, "text/markdown; charset=utf-8", ".md")

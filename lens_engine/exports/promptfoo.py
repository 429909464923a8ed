"""`promptfoo`: messages of a prompt file. promptfoo renders each by Nunjucks, with the variable `text`."""

import json
import re

from lens_engine.exports.contract import SLOT, Format, Source
from lens_engine.exports.openai_chat import write_turns

_TAG = re.compile(r"\{[{%#]|#\}")  # the end of a comment without a beginning is an error of Nunjucks


def write(source: Source) -> str:
    turns, before, after = write_turns(source)
    escaped = [{**one, "content": escape(one["content"])} for one in turns]
    slot = {"role": "user", "content": f"{close(escape(before))}{{{{{SLOT}}}}}{escape(after)}"}
    return json.dumps([*escaped, slot], ensure_ascii=False, indent=2) + "\n"


def escape(text: str) -> str:
    """The text as a template of Nunjucks or Jinja that renders it: its marks of tags become strings in tags."""
    return _TAG.sub(lambda found: f"{{{{ '{found[0]}' }}}}", text)


def close(before: str) -> str:
    """The text, with a last brace as a string in a tag: it would join the tag that follows."""
    return f"{before[:-1]}{{{{ '{{' }}}}" if before.endswith("{") else before


PROMPTFOO = Format(write, "application/json", ".json", has_turns=True)

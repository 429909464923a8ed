"""`promptfoo`: messages of a prompt file. promptfoo renders each by Nunjucks, with the variable `text`."""

import json
import re

from lens_engine.exports.contract import SLOT, Format, Source
from lens_engine.exports.openai_chat import write_messages, write_turns

_TAG = re.compile(r"\{[{%#]|#\}")  # the end of a comment without a beginning is an error of Nunjucks


def write(source: Source) -> str:
    *turns, last = write_turns(source, slot=f"{{{{{SLOT}}}}}")
    system = [] if turns else [{"role": "system", "content": escape(source.instruction)}]
    escaped = [{**one, "content": escape(one["content"])} for one in turns]
    return json.dumps([*system, *escaped, last], ensure_ascii=False, indent=2) + "\n"


def escape(text: str) -> str:
    """The text as a template of Nunjucks or Jinja that renders it: its marks of tags become strings in tags."""
    return _TAG.sub(lambda found: f"{{{{ '{found[0]}' }}}}", text)


PROMPTFOO = Format(write, "application/json", ".json", write_messages)

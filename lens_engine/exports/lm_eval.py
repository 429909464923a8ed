"""`lm-eval`: a task file for the Language Model Evaluation Harness; name the dataset in it.

Its prompt is byte for byte the one that was evaluated. A chat needs `--apply_chat_template --fewshot_as_multiturn`
there, and then has the turns that were evaluated. The file is JSON, which is YAML, but for the escapes of
characters beyond the first plane, which YAML writes otherwise.
"""

import json
import re

from lens_engine.exports.contract import SLOT, Format, Source
from lens_engine.exports.promptfoo import close, escape

_PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")


def write(source: Source) -> str:
    task = source.task.task()
    template, description = task.template, "".join(task.opening)
    before, after = template.around_text
    span, label_end = template.render_span(source.words[0]), source.task.label_end
    delimiter, end = span[: len(span) - len(source.words[0])], template.tail + source.task.separator
    if source.task.chat is not None:
        delimiter = end = label_end = ""
        description = source.system
    shown = {
        "task": "lens_support_examples",
        "output_type": "multiple_choice",
        **({"description": _escape(description)} if description else {}),
        "doc_to_text": f"{close(_escape(before))}{{{{{SLOT}}}}}{_escape(after)}",
        "doc_to_choice": [word + label_end for word in source.words],
        "doc_to_target": f"{{{{label}}}}{_escape(label_end)}" if label_end else "label",
        "target_delimiter": delimiter,
        "fewshot_delimiter": end.removeprefix(label_end),
        "num_fewshot": len(source.demonstrations),
        "fewshot_config": {
            "sampler": "first_n",
            "samples": [{"text": text, "label": word} for text, word in source.demonstrations],
        },
    }
    note = f"# {source.note}\n" if source.note is not None else ""
    return note + _PAIR.sub(_join_pair, json.dumps(shown, indent=2)) + "\n"


def _escape(text: str) -> str:
    """As `escape`. So is a carriage return: Jinja writes every line break of a template as a line feed."""
    return escape(text).replace("\r", "{{ '\\r' }}")


def _join_pair(found: re.Match[str]) -> str:
    high, low = (int(half, 16) for half in found.groups())
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


LM_EVAL = Format(write, "application/yaml", ".yaml", has_text=True, has_turns=True)

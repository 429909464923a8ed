"""What a chat API answers: its first choice, and what the model says beside what it thinks."""

import json
import re
from typing import Any

from lens_engine.servers.refusal import is_about_content

_FILTERED = {
    *("content_filter", "content_filtered", "guardrail_intervened", "prohibited_content", "refusal", "safety"),
    "sensitive",
}
"""Why an answer ends that is withheld, as vendors call it."""

_TAG = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection)"
_BEGINS = re.compile(rf"<{_TAG}>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)", re.IGNORECASE)
_ENDS = re.compile(rf".*(?:</{_TAG}>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>)", re.IGNORECASE | re.DOTALL)
"""What a model thinks, up to its last end. A chat template may have put the beginning into the prompt."""


def read_choice(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The first choice; None if the content was refused, by the server or by the model.

    Raises:
        KeyError, IndexError, TypeError, AttributeError: the answer has another form.
    """
    if "choices" not in answer and is_about_content(json.dumps(answer.get("error"))):
        return None
    choice = {**answer["choices"][0]}
    is_refused = (choice.get("message") or {}).get("refusal")
    return None if is_refused or str(choice.get("finish_reason")).lower() in _FILTERED else choice


def read_said(choice: dict[str, Any]) -> str | None:
    """What the model says without what it thinks; None if its limit ended it before it said something.

    Raises:
        KeyError, TypeError: the choice has another form.
    """
    content = choice["message"]["content"] or ""
    if isinstance(content, list):  # parts, some of which are thoughts
        content = "".join(part["text"] for part in content if part["type"] == "text")
    said, *unfinished = _BEGINS.split(_ENDS.sub("", str(content), count=1), maxsplit=1)
    is_cut = unfinished or choice.get("finish_reason") == "length"
    return None if is_cut and not said.strip() else said

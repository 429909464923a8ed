"""The prompt of stored support examples, of any form, and the demonstrations that it shows for an input."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Found, Pool, Retrieval
from lens_engine.retrieval.prompts import PromptRenderer
from lens_engine.task.template import Task
from lens_engine.types import Example


class ShownExample(NamedTuple):
    """A demonstration, and how much it is like the input; None for one that every prompt shows."""

    example: Example
    similarity: float | None


def find_renderer(task: Task, answer: Mapping[str, Any], pool: Pool | None) -> PromptRenderer:
    """The prompt of support examples as they are stored.

    Args:
        pool: None for a fixed form.
    """
    retrieval = None if pool is None else Retrieval(form=read_form(answer), pool=pool)
    return PromptRenderer.of(task, _list_fixed(answer), retrieval)


def list_shown(answer: Mapping[str, Any], found: Sequence[Found]) -> list[ShownExample]:
    """The demonstrations of an input, in the order of its prompt: the fixed ones, then those that were found for it."""
    fixed = (ShownExample(one, None) for one in _list_fixed(answer))
    return [*fixed, *(ShownExample(*one) for one in found)]


def read_form(answer: Mapping[str, Any]) -> PromptForm:
    """The form of stored support examples; those of an earlier release are fixed."""
    return PromptForm.model_validate(answer.get("form") or {})


def _list_fixed(answer: Mapping[str, Any]) -> list[Example]:
    return [Example(one["row"], one["text"], one["label"]) for one in answer["examples"]]

"""The prompt of an input: fixed demonstrations, those found for it, and the input, as the run evaluated them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Pool, Retrieval
from lens_engine.task.template import Task
from lens_engine.types import Example


class ShownExample(NamedTuple):
    """A demonstration, and how much it is like the input; None for one that every prompt shows."""

    example: Example
    similarity: float | None


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """Support examples as they are stored, for a task."""

    task: Task
    fixed: tuple[Example, ...]
    form: PromptForm

    @classmethod
    def of(cls, task: Task, answer: Mapping[str, Any]) -> "StoredPrompt":
        fixed = tuple(Example(one["row"], one["text"], one["label"]) for one in answer["examples"])
        return cls(task, fixed, read_form(answer))

    def demonstrations(self, texts: Sequence[str], pool: Pool | None) -> list[list[ShownExample]]:
        """The demonstrations of each text, in the order of its prompt.

        Args:
            pool: None for a fixed form.
        """
        fixed = [ShownExample(one, None) for one in self.fixed]
        if pool is None:
            return [fixed for _ in texts]
        retrieval = Retrieval.model_construct(form=self.form, pool=pool)  # the pool was checked when it was made
        found = retrieval.demonstrations(texts, [one.row for one in self.fixed])
        return [[*fixed, *(ShownExample(*one) for one in own)] for own in found]

    def begin(self, shown: Sequence[ShownExample]) -> str:
        """The prompt up to the input."""
        return "".join(self.task.render_prefix([one.example for one in shown]))


def read_form(answer: Mapping[str, Any]) -> PromptForm:
    """The form of stored support examples; those of an earlier release are fixed."""
    return PromptForm.model_validate(answer.get("form") or {})

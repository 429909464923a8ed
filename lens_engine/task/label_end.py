"""A task whose label words are scored together with what ends them.

log p(longer word) = log p(shorter word) + log p(rest), so where the tokens of one label word begin those of another,
the longer word is never the likelier one. What follows a label word in a demonstration tells the two apart: the text of
the template after `{label}`, and then the separator. So all label words of such a task are scored with the same
beginning of it (`scoring.label_ends` finds how much of it is needed).
"""

from dataclasses import dataclass, field
from functools import cached_property

from lens_engine.task.template import Task


@dataclass(frozen=True, init=False)
class EndedTask(Task):
    """A task whose spans are each label word with what ends it. Prompts are those of the task without it."""

    label_end: str = field(kw_only=True)

    def __init__(self, task: Task, label_end: str) -> None:
        super().__init__(task.template, task.verbalizer, task.separator, instruction=task.instruction)
        object.__setattr__(self, "label_end", label_end)

    @cached_property
    def label_spans(self) -> tuple[str, ...]:
        return tuple(span + self.label_end for span in self.without_end().label_spans)

    def without_end(self) -> Task:
        """The task whose spans are label words alone."""
        return Task(self.template, self.verbalizer, self.separator, instruction=self.instruction)


def find_label_end(task: Task) -> str:
    """What ends the label words of a task; empty if they are scored alone."""
    return task.label_end if isinstance(task, EndedTask) else ""

"""A problem: a task and its labelled examples."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lens_engine.errors import InvalidVerbalizer
from lens_engine.prompt.examples import list_examples, refuse_swapped
from lens_engine.prompt.template import Task
from lens_engine.prompt.wording import show_count
from lens_engine.types import Example


@dataclass(frozen=True, slots=True, init=False)
class Problem:
    """A task and its labelled examples.

    Without `test`, what to expect on new texts is estimated from `examples`. With `alternatives`, tasks of other
    wordings, prompts are compared in all of them.
    """

    task: Task
    examples: Sequence[Example]
    test: Sequence[Example] | None = None
    alternatives: tuple[Task, ...] = ()

    def __init__(
        self, task: Task, examples: Iterable[Any], test: Iterable[Any] | None = None, alternatives: Iterable[Task] = ()
    ) -> None:
        """Take examples in any form of `list_examples`: `Example`, (text, label) or mappings; a DataFrame; or columns.

        Raises:
            TypeError: `task` is no task, or an example has another form.
            InvalidDataset: a column is missing, a text is empty, or texts and labels are swapped.
            InvalidVerbalizer: an alternative has other label words, or another order of the labels.
        """
        if not isinstance(task, Task):
            raise TypeError(f"the task is of type {type(task).__name__}; write Problem(Task.for_examples(rows), rows)")
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "examples", list_examples(examples))
        refuse_swapped(self.examples)
        object.__setattr__(self, "test", None if test is None else list_examples(test, "test"))
        others = list[Task]()
        for other in alternatives:
            if other not in (task, *others):
                others.append(other)
        if any([*other.verbalizer.words.items()] != [*task.verbalizer.words.items()] for other in others):
            raise InvalidVerbalizer(
                "alternatives differ in template and instruction alone; give each the label words of the task",
                field="verbalizer",
            )
        object.__setattr__(self, "alternatives", tuple(others))

    def __repr__(self) -> str:
        test = "no test rows" if self.test is None else show_count(len(self.test), "test row")
        return f"Problem({show_count(len(self.examples), 'example')}, {len(self.task.labels)} labels, {test})"


def check_problem(problem: object) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(
            f"the problem is of type {type(problem).__name__}; write Problem(Task.for_examples(examples), examples)"
        )


def digest_examples(examples: Iterable[Example]) -> str:
    """SHA-256 of the (text, label) rows in order. Equal rows have equal digests, whatever the file format."""
    digest = hashlib.sha256()
    for example in examples:
        row = json.dumps([example.text, example.label], ensure_ascii=False, separators=(",", ":"))
        digest.update(row.encode() + b"\n")
    return digest.hexdigest()

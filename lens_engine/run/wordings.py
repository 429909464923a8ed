"""Errors of several wordings: the templates and instructions in which the contenders of a run are asked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lens_engine.errors import InvalidInput
from lens_engine.task.template import Task
from lens_engine.task.wording import show_label


def refuse_wordings(tasks: Sequence[Task], refused: Mapping[int, InvalidInput]) -> InvalidInput:
    """One error for the wordings that the model cannot be asked in, each named with its template and instruction.

    A run does not leave them out: it would compare fewer wordings than it was asked to.

    Args:
        tasks: every wording.
        refused: what is wrong, by place in `tasks`; one at least.
    """
    if len(tasks) == 1:
        return refused[0]
    remedy = "; or leave this wording out" if len(refused) < len(tasks) else ""
    named = [_name_wording(tasks, place, error, remedy) for place, error in refused.items()]
    first = named[0]
    if len(named) == 1:
        return first
    message = f"{len(named)} of {len(tasks)} wordings are refused; the first: {first}"
    own, others = [one.faults[0] for one in named], [fault for one in named for fault in one.faults[1:]]
    problems = (*own, *dict.fromkeys(others))  # the same row may be too long in each
    return type(first)(message, field=first.field, row=first.row, problems=problems)


def _name_wording(tasks: Sequence[Task], place: int, error: InvalidInput, remedy: str) -> InvalidInput:
    template, instruction = tasks[place].template.pattern, tasks[place].instruction
    told = f"the instruction {show_label(instruction)}" if instruction else "no instruction"
    message = (
        f"wording {place + 1} of {len(tasks)}, with the template {show_label(template)} and {told}: {error}{remedy}"
    )
    fields = {
        "template": _find_field("template", template, [one.template.pattern for one in tasks]),
        "instruction": _find_field("instruction", instruction, [one.instruction for one in tasks]),
    }
    field = fields.get(error.field, error.field)
    own, *others = error.faults
    problems = (replace(own, field=field, detail=message), *others)
    return type(error)(message, field=field, row=error.row, problems=problems)


def _find_field(name: str, text: str, texts: Sequence[str]) -> str:
    """The field of one of several texts, which has its number from 0, as in the request."""
    distinct = list(dict.fromkeys(texts))
    return name if len(distinct) == 1 else f"{name}.{distinct.index(text)}"

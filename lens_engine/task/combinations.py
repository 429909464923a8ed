"""Wordings of a task: each template with each instruction."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from lens_engine.errors import Faults, InvalidInput, InvalidInstruction, InvalidTemplate
from lens_engine.task.defaults import DEFAULT_SEPARATOR, DEFAULT_TEMPLATE
from lens_engine.task.instructions import read_instruction
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.task.wording import show_label

MAX_WORDINGS = 16
"""Largest number of wordings that one run chooses among: each is judged on validation rows of its own cost."""
NO_INSTRUCTION = ("",)
Texts = str | Sequence[str]
"""One text, or several to choose among."""

_Read = TypeVar("_Read")


class Wordings(NamedTuple):
    """A task in each of its wordings."""

    task: Task  #: the first template with the first instruction
    alternatives: tuple[Task, ...] = ()


def read_templates(given: Texts | None) -> tuple[Template, ...]:
    """The templates of one pattern or of several; none of None.

    Raises:
        InvalidTemplate: a pattern is wrong or repeated, or the list is empty. The error lists the faults of all; the
            field of one among several is `template.1`.
        TypeError: a pattern is no text.
    """
    return () if given is None else _read_each(given, "template", Template, InvalidTemplate)


def read_instructions(given: Texts) -> tuple[str, ...]:
    """One instruction or several, as prompts hold them; "" is none.

    Raises:
        InvalidInstruction: see `read_instruction`; or one is repeated, or the list is empty. The error lists the faults
            of all; the field of one among several is `instruction.1`.
        TypeError: an instruction is no text.
    """
    return _read_each(given, "instruction", read_instruction, InvalidInstruction)


def check_wordings(templates: Sequence[Template], instructions: Sequence[str]) -> None:
    """Refuse more than 16 wordings (`InvalidTemplate` or `InvalidInstruction`, of the longer list)."""
    num_templates, num_instructions = max(len(templates), 1), len(instructions)
    number = num_templates * num_instructions
    if number <= MAX_WORDINGS:
        return
    said = (
        f"templates ({num_templates}) times instructions ({num_instructions}) are {number} wordings, and a run chooses "
        f"among at most {MAX_WORDINGS}; leave some out"
    )
    if num_templates >= num_instructions:
        raise InvalidTemplate(said, field="template")
    raise InvalidInstruction(said, field="instruction")


def combine_wordings(
    verbalizer: Verbalizer,
    templates: Sequence[Template] = (),
    instructions: Sequence[str] = NO_INSTRUCTION,
    separator: str = DEFAULT_SEPARATOR,
) -> Wordings:
    """The task in every wording: the first template with each instruction, then the second with each.

    Args:
        templates: none for the default.
        instructions: as `read_instructions` gives them.

    Raises:
        InvalidTemplate, InvalidInstruction: see `check_wordings`.
    """
    check_wordings(templates, instructions)
    task, *others = (
        Task(template, verbalizer, separator, instruction=instruction)
        for template in templates or (Template(DEFAULT_TEMPLATE),)
        for instruction in instructions
    )
    return Wordings(task, tuple(others))


def _read_each(
    given: Texts, field: str, read: Callable[[str], _Read], refusal: type[InvalidInput]
) -> tuple[_Read, ...]:
    texts = [given] if isinstance(given, str) else [*given]
    if not texts:
        raise refusal(f"the list of {field}s is empty; give one, or leave it out", field=field)
    found, faults = list[_Read](), Faults()
    for number, text in enumerate(texts):
        place = field if len(texts) == 1 else f"{field}.{number}"
        if not isinstance(text, str):
            raise TypeError(f"{place} is of type {type(text).__name__}; give a str")
        try:
            one = read(text)
        except InvalidInput as error:
            faults.found.append(refusal(_say_which(str(error), field, number, len(texts)), field=place))
            continue
        if one in found:
            said = f"the {field} {show_label(text)} is given twice; give it once"
            faults.found.append(refusal(_say_which(said, field, number, len(texts)), field=place))
        found.append(one)
    faults.refuse()
    return tuple(found)


def _say_which(said: str, field: str, number: int, among: int) -> str:
    """The message, with the number of the faulty text among several, from 1."""
    return said if among == 1 else f"{field} {number + 1} of {among}: {said}"

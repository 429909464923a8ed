"""A task as it was asked for: what was left open is taken by default, and said."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from lens_engine.errors import Faults, InvalidDataset, InvalidInput, InvalidInstruction, InvalidTemplate
from lens_engine.prompt.examples import list_labels, refuse_swapped
from lens_engine.prompt.template import Task, Template, read_instruction
from lens_engine.prompt.verbalizer import DEFAULT_SEPARATOR, DEFAULT_TEMPLATE, Verbalizer, write_template
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.types import Example

MAX_WORDINGS = 16
"""Largest number of wordings that one run chooses among: prompts are judged in each."""
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


_MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """The parts of a task that were given; nothing for a part that was not.

    Raises:
        InvalidTemplate, InvalidInstruction: see `check_wordings`.
    """

    templates: tuple[Template, ...] = ()  #: as `read_templates` gives them; none for the default
    verbalizer: Verbalizer | None = None
    separator: str = DEFAULT_SEPARATOR
    instructions: tuple[str, ...] = NO_INSTRUCTION  #: as `read_instructions` gives them

    def __post_init__(self) -> None:
        check_wordings(self.templates, self.instructions)

    def complete(
        self, examples: Sequence[Example], *, join_spellings: bool = True, label_column: str | None = None
    ) -> Wordings:
        """The task, and the other wordings that a run chooses among.

        Without a verbalizer, each label of the examples is its own label word.

        Args:
            join_spellings: the option `labels.join_spellings`; a label has its most frequent spelling.
            label_column: its name is in the default template, where it says what the labels are.

        Raises:
            InvalidDataset: texts and labels are swapped; or without a verbalizer, and all examples have one label.
            InvalidVerbalizer: without a verbalizer, and a label gives no word, or two labels give the same word.
        """
        refuse_swapped(examples)
        verbalizer = self.verbalizer
        if verbalizer is None:
            labels = list_labels(examples, join_spellings=join_spellings)
            if len(labels) == 1:
                raise InvalidDataset(
                    f"every row has the label {show_label(labels[0])}; a classifier needs at least two labels",
                    field="dataset.label",
                )
            verbalizer = Verbalizer.of_labels(labels)
        templates = self.templates or (Template(write_template(label_column)),)
        return combine_wordings(verbalizer, templates, self.instructions, self.separator)

    def list_defaults(self, task: Task) -> tuple[str, ...]:
        """One sentence for each part that the completed task took by default, and one on what a run chooses among."""
        found = list[str]()
        if not self.templates:
            found.append(f"no template was given; the default is taken: {task.template.pattern!r}")
        if self.verbalizer is None:
            found.append(f"no label words were given; each label is its own: {_list_words(task.verbalizer)}")
        if (choice := self._describe_choice()) is not None:
            found.append(choice)
        return tuple(found)

    def _describe_choice(self) -> str | None:
        """What a run chooses among; None for a single wording."""
        templates, instructions = max(len(self.templates), 1), len(self.instructions)
        if templates * instructions == 1:
            return None
        asked = show_count(sum(map(bool, self.instructions)), "instruction") + " and none" * ("" in self.instructions)
        without = self.instructions == NO_INSTRUCTION
        parts = [show_count(templates, "template"), *([] if without else [asked])]
        return (
            f"the run compares prompts in {templates * instructions} wordings ({' with '.join(parts)}), and chooses one"
        )


def _list_words(verbalizer: Verbalizer) -> str:
    """The first words, with their labels where the two differ."""
    words = [
        show_label(word) if word == label else f"{show_label(word)} for {show_label(label)}"
        for label, word in verbalizer.words.items()
    ]
    more = len(words) - _MAX_LISTED
    return ", ".join(words[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")

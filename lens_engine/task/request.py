"""A task as it was asked for: what was left open is taken by default, and said."""

from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.task.combinations import NO_INSTRUCTION, Wordings, check_wordings, combine_wordings
from lens_engine.task.defaults import DEFAULT_SEPARATOR, write_template
from lens_engine.task.examples import list_labels, refuse_swapped
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.task.wording import show_count, show_label
from lens_engine.types import Example

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
        self,
        examples: Sequence[Example],
        *,
        join_spellings: bool = True,
        label_column: str | tuple[str, ...] | None = None,
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

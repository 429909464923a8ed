"""A task as JSON, in results and classifiers."""

from pydantic import Field

from lens_engine.prompt.chat import ChatForm, ChatTask
from lens_engine.prompt.template import EndedTask, Task, Template, find_label_end
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.types import Record


class LabelWord(Record):
    """A label and the word that stands for it in a prompt."""

    label: str = Field(description="Label, as in the dataset.")
    word: str = Field(description="Word that stands for the label in a prompt.")


class TaskRecord(Record):
    """Template, label words, separator and instruction of a task."""

    template: str = Field(description="Pattern with one {text} followed by one {label}.")
    label_words: tuple[LabelWord, ...] = Field(
        description="Label word of each label. A list, because the order of the labels is the order of the head's "
        "coefficients, and a JSON object has no order."
    )
    separator: str = Field(description="Text that ends each demonstration.")
    instruction: str = Field(
        "",
        exclude_if=lambda instruction: not instruction,
        description="Text that stands once before the demonstrations; the separator ends it. In a chat it begins the "
        "system message. Left out if there is none.",
    )
    label_end: str = Field(
        "",
        exclude_if=lambda end: not end,
        description="Text that ends each label word and is scored with it, because the tokens of one label word begin "
        "those of another; left out if none begins another.",
    )
    chat: ChatForm | None = Field(
        None,
        exclude_if=lambda chat: chat is None,
        description="How the model was asked as a chat; left out for a prompt that is one text.",
    )

    left_out: tuple[str, ...] = Field(
        (),
        exclude_if=lambda labels: not labels,
        description="Labels that the selection left out as too rare. An evaluation leaves their rows out too.",
    )

    @classmethod
    def of(cls, task: Task, left_out: tuple[str, ...] = ()) -> "TaskRecord":
        words = tuple(LabelWord(label=label, word=word) for label, word in task.verbalizer.words.items())
        chat = task.chat if isinstance(task, ChatTask) else None
        return cls(
            template=task.template.pattern,
            label_words=words,
            separator=task.separator,
            instruction=task.instruction,
            label_end=find_label_end(task),
            chat=chat,
            left_out=left_out,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(one.label for one in self.label_words)

    def task(self) -> Task:
        """
        Raises:
            InvalidTemplate, InvalidVerbalizer, InvalidInstruction: the record was changed by hand.
        """
        words = {one.label: one.word for one in self.label_words}
        task = Task(Template(self.template), Verbalizer(words), self.separator, instruction=self.instruction)
        if self.chat is not None:
            return ChatTask(task, self.chat)
        return EndedTask(task, self.label_end) if self.label_end else task

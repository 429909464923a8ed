"""Wire types of names."""

from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from app.web.validation import Incoming, Outgoing
from lens_engine.types import HeadlineKind

MOST_ADDED = 200
"""Number of rows that one request may add to a pool."""

Note = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class PromptBody(Incoming):
    """The next version of a prompt: what a selection found, or an earlier version again."""

    one_of = ("selection_id", "version")
    other_names: ClassVar = {"id": "selection_id", "selection": "selection_id", "comment": "note"}

    selection_id: str | None = Field(
        default=None, max_length=40, description="Id of one of your selections that has a result."
    )
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="An earlier version of this name, to go back to it."
    )
    note: Note | None = Field(default=None, description="Why the name changes, for its history.")


class LabelledText(Incoming):
    """A labelled text."""

    text: str = Field(description="Text.")
    label: str = Field(description="One of the labels of the prompt.")


class ExamplesBody(Incoming):
    """Labelled rows that are added to the pool of a prompt."""

    other_names: ClassVar = {"rows": "examples", "example": "examples", "comment": "note"}

    examples: list[LabelledText] = Field(
        min_length=1, max_length=MOST_ADDED, description="Rows, which are added together or not at all."
    )
    note: Note | None = Field(default=None, description="Why they are added, for the history of the name.")


class PromptExampleOut(Outgoing):
    """A labelled row of the pool of a prompt."""

    row: int = Field(
        description="Number of the row in the dataset of the selection. Added rows are numbered after its last row, "
        "and no number is used again."
    )
    text: str = Field(description="Text; a text that was far longer than the rest is cut, as in the run.")
    label: str = Field(description="Label.")
    added: bool = Field(description="Whether it was added to the prompt, and is not of the selection.")


class PromptExamplePage(Outgoing):
    """One page of the pool of a prompt."""

    name: str = Field(description="The name.")
    version: int = Field(description="Version of the name; another page may be of a later version.")
    pool_rows: int | None = Field(description="Number of rows of the pool; null where no prompt finds any.")
    items: list[PromptExampleOut] = Field(description="Rows, in the order of their numbers.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class PromptSummary(Outgoing):
    """What lists show of a version."""

    model: str | None = Field(None, description="Language model for which the support examples were found.")
    accuracy: float | None = Field(None, description="Accuracy that is expected of the support examples.")
    first: HeadlineKind | None = Field(None, description="What to use first: prompt, words or classifier.")
    form: str | None = Field(None, description="Form of the prompt, such as fixed or nearest 8 by embeddings.")
    pool_rows: int | None = Field(
        None, description="Number of labelled rows in which it finds the demonstrations of an input; null for fixed."
    )
    added: int = Field(0, description="Number of rows that this version added to those of the version before.")
    taken_out: int = Field(0, description="Number of rows that this version took out.")
    head: str | None = Field(None, description="Kind of the classifier's head; null without a classifier.")
    classifier_accuracy: float | None = Field(None, description="Accuracy that is expected of the classifier.")
    largest_class: float | None = Field(
        None, description="Share of the largest class among the rows that tell it: the accuracy of always answering it."
    )


class PromptVersionOut(PromptSummary):
    """A version of a name. Its number is one more than that of the version before, also after a deletion."""

    name: str = Field(description="The name.")
    version: int = Field(description="Number of the version; `ETag` has it too.")
    selection_id: str | None = Field(
        description="Selection of which the version is a copy, and which may be gone; null where the name was deleted."
    )
    note: str | None = Field(description="Why the name changed.")
    key_name: str | None = Field(
        description="Name of the API key that made the version; null for a key of the settings, or without keys."
    )
    created_at: datetime = Field(description="Time of the change.")
    warning: str | None = Field(
        None,
        description="Where the answers come from the classifier: that examples do not change them, and how to go on.",
    )


class PromptPage(Outgoing):
    """One page of names with their current versions."""

    items: list[PromptVersionOut] = Field(description="Names in alphabetical order.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class PromptHistory(Outgoing):
    """One page of the versions of a name."""

    items: list[PromptVersionOut] = Field(description="Versions, newest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")

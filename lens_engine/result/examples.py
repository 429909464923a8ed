"""A support example, and how much it helps."""

from pydantic import Field

from lens_engine.types import Example, Record


class LabelEffect(Record):
    """How much an example helps inputs of one label as the only demonstration."""

    label: str = Field(description="Label of the inputs.")
    effect: float = Field(description="Mean gain over the rows of the score set that have this label.")
    rows: int = Field(description="Number of these rows.")


class SupportExample(Record):
    """One demonstration of the chosen permutation."""

    position: int = Field(description="Position in the prompt, counted from 0.")
    row: int = Field(description="Number of the example's data row in the dataset, counted from 0.")
    text: str = Field(description="Text of the example.")
    label: str = Field(description="Label of the example.")
    label_word: str = Field(description="Label word that stands for the label in the prompt.")
    info_score: float | None = Field(
        description="How much the example helps as the only demonstration: the mean gain over the score set. Higher is "
        "better; null if the method does not compute it."
    )
    tokens: int = Field(description="Number of tokens of the rendered demonstration.")
    effects: tuple[LabelEffect, ...] | None = Field(
        None,
        description="`info_score` by label of the input, for the labels of the score set; null where it is null.",
    )

    @property
    def example(self) -> Example:
        """The labelled text alone."""
        return Example(self.row, self.text, self.label)

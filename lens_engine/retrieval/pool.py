"""The pool: the labelled rows from which the demonstrations of an input are taken, and how they are."""

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

from pydantic import Field, model_validator

from lens_engine.embeddings.embedder import EmbedderRecord, open_recorded
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.index import ExampleIndex
from lens_engine.types import Example, Record

MOST_POOL_ROWS = 20_000
"""Largest number of rows that a run takes into a pool."""


class PoolRow(Record):
    """A labelled text of the pool."""

    row: int = Field(description="Number of the row in the dataset, from 0.")
    text: str = Field(description="Text; a text that is far longer than the rest is cut, as in the run.")
    label: str = Field(description="Label, as in the dataset.")


class Found(NamedTuple):
    """A demonstration that was found for an input."""

    example: Example
    similarity: float  #: to the input, 0 to 1


class Pool(Record):
    """Labelled rows, in the order of their numbers.

    Raises:
        ValidationError: the rows have another order, or a number twice.
    """

    rows: tuple[PoolRow, ...] = Field(description="Rows, in the order of their numbers.")

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Self:
        """The pool of these examples, in any order."""
        ordered = sorted(examples, key=lambda example: example.row)
        return cls(rows=tuple(PoolRow(row=one.row, text=one.text, label=one.label) for one in ordered))

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        for before, after in pairwise(self.rows):
            if before.row >= after.row:
                raise ValueError(
                    f"row {after.row} comes after row {before.row}; give each row once, in the order of their numbers"
                )
        return self

    def __copy__(self) -> "Pool":
        """Without what was made of the rows, because `model_copy` may replace them."""
        return Pool.model_construct(rows=self.rows)

    def __getstate__(self) -> dict[Any, Any]:
        """As `__copy__`: another process has other hashes."""
        return super().__getstate__() | {"__dict__": {"rows": self.rows}}

    @property
    def index(self) -> ExampleIndex:
        """The index of the texts by their words."""
        return self.find_index(None)

    def find_index(self, embedder: EmbedderRecord | None) -> ExampleIndex:
        """The index of the texts by their embeddings, or with None by their words.

        It is made at the first use. Python 3.11 would make a `cached_property` pool after pool.

        Raises:
            ModelMismatch, UnknownModel, InvalidConfig: as `open_recorded`.
        """
        made = self.indexes
        if embedder not in made:
            opened = None if embedder is None else open_recorded(embedder)
            made[embedder] = ExampleIndex.of([row.text for row in self.rows], opened)
        return made[embedder]

    @property
    def indexes(self) -> dict[EmbedderRecord | None, ExampleIndex]:
        """The indexes that were made."""
        made: dict[EmbedderRecord | None, ExampleIndex] = self.__dict__.setdefault("index", {})
        return made

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        return tuple(Example(row.row, row.text, row.label) for row in self.rows)

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each row, by its number."""
        return {row.row: place for place, row in enumerate(self.rows)}


class Retrieval(Record):
    """How the demonstrations of an input are found: the form of the prompt, and the pool."""

    form: PromptForm
    pool: Pool

    @property
    def index(self) -> ExampleIndex:
        """The index of the pool that the form needs, made at the first use."""
        return self.pool.find_index(self.form.embedder)

    def demonstrations(self, texts: Sequence[str], fixed: Collection[int] = ()) -> list[list[Found]]:
        """For each text its nearest rows, the nearest last; none for a fixed form.

        Args:
            fixed: row numbers of the fixed demonstrations of the prompt, which are not found again.
        """
        pool = self.pool
        shown = [pool.places[row] for row in fixed if row in pool.places]
        return [
            [Found(pool.examples[one.place], one.similarity) for one in reversed(neighbours)]
            for neighbours in self.index.nearest(texts, self.form.nearest, excluded=shown)
        ]

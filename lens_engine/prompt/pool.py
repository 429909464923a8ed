"""The pool: the labelled rows from which the demonstrations of an input are taken, and how they are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from lens_engine.config import FormKind
from lens_engine.prompt.chat import ChatTask, Turn, read_turns
from lens_engine.prompt.embedder import EmbedderRecord, open_recorded
from lens_engine.prompt.index import ExampleIndex
from lens_engine.prompt.template import Task
from lens_engine.types import Example, Record


class PromptForm(Record):
    """How the demonstrations of a prompt are found.

    Raises:
        ValidationError: a fixed form has a number of nearest rows or an embedder, or another form has no number.
    """

    kind: FormKind = Field(
        "fixed",
        description="fixed: the support examples. nearest: the rows of the pool that are most like the input, nearest "
        "last. fixed+nearest: the support examples first, then the nearest.",
    )
    nearest: int = Field(0, ge=0, description="Number of demonstrations that are found for each input; 0 for fixed.")
    embedder: EmbedderRecord | None = Field(
        None,
        exclude_if=lambda embedder: embedder is None,
        description="What gives texts the vectors by which they are alike; left out if they are alike by their words.",
    )

    @model_validator(mode="after")
    def _check_nearest(self) -> Self:
        if self.kind == "fixed" and self.embedder is not None:
            raise ValueError("a fixed form finds no rows, and has an embedder; leave it out, or set kind")
        if self.kind == "fixed" and self.nearest:
            raise ValueError(f"a fixed form finds no rows, and nearest is {self.nearest}; leave it out, or set kind")
        if self.kind != "fixed" and not self.nearest:
            raise ValueError(f"the form {self.kind} finds rows for each input; set nearest to 1 or more")
        return self

    @property
    def similarity(self) -> Literal["words", "embeddings"]:
        """By what the nearest rows are like the input."""
        return "words" if self.embedder is None else "embeddings"

    @property
    def name(self) -> str:
        """`fixed`, `nearest 8`, `fixed+nearest 8` or `nearest 8 by embeddings`."""
        by = " by embeddings" * (self.similarity == "embeddings")
        return f"{self.kind} {self.nearest}{by}" if self.nearest else self.kind


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
        """For each text its nearest rows, the nearest last, without the rows `fixed`; none for a fixed form."""
        pool = self.pool
        shown = [pool.places[row] for row in fixed if row in pool.places]
        return [
            [Found(pool.examples[one.place], one.similarity) for one in reversed(neighbours)]
            for neighbours in self.index.nearest(texts, self.form.nearest, excluded=shown)
        ]


class Beginning(NamedTuple):
    """What stands before an input."""

    segments: tuple[str, ...]  #: instruction and demonstrations, each tokenised alone
    found: tuple[Found, ...]  #: the demonstrations that were found for the input, the most similar last


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The prompt of an input, up to the label word."""

    text: str  #: to send unchanged; of a chat its turns as JSON, a line each
    found: tuple[Found, ...]  #: the demonstrations that were found for the input, the most similar last
    turns: tuple[Turn, ...] | None = None  #: `role` and `content` of each turn; None where the prompt is one text


@dataclass(frozen=True, slots=True)
class PromptRenderer:
    """A prompt of any form, which renders inputs. It asks no model, so it cuts no long text."""

    task: Task
    fixed: tuple[str, ...]  #: instruction and fixed demonstrations, rendered
    rows: tuple[int, ...]  #: of the fixed demonstrations, which are not found again
    retrieval: Retrieval | None = None  #: None for a fixed form

    @classmethod
    def of(cls, task: Task, examples: Sequence[Example], retrieval: Retrieval | None) -> Self:
        """The prompt with these fixed demonstrations."""
        return cls(task, task.render_prefix(examples), tuple(one.row for one in examples), retrieval)

    def begin(self, texts: Sequence[str]) -> list[Beginning]:
        """What stands before each text."""
        if self.retrieval is None:
            return [Beginning(self.fixed, ())] * len(texts)
        return [
            Beginning((*self.fixed, *(self.task.render_demonstration(one.example) for one in found)), tuple(found))
            for found in self.retrieval.demonstrations(texts, self.rows)
        ]

    def render(self, texts: Sequence[str]) -> list[RenderedPrompt]:
        """The whole prompt of each text."""
        return [self._join(beginning, text) for beginning, text in zip(self.begin(texts), texts, strict=True)]

    def _join(self, beginning: Beginning, text: str) -> RenderedPrompt:
        prompt = self.task.join_prompt("".join(beginning.segments), text)
        turns = tuple(read_turns(prompt)) if isinstance(self.task, ChatTask) else None
        return RenderedPrompt(prompt, beginning.found, turns)

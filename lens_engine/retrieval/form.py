"""The form of a prompt: how its demonstrations are found."""

from typing import Literal, Self

from pydantic import Field, model_validator

from lens_engine.config import FormKind
from lens_engine.embeddings.embedder import EmbedderRecord
from lens_engine.types import Record


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

"""The form of a prompt: how its demonstrations are found."""

from typing import Self

from pydantic import Field, model_validator

from lens_engine.config import FormKind
from lens_engine.types import Record


class PromptForm(Record):
    """How the demonstrations of a prompt are found.

    Raises:
        ValidationError: a fixed form has a number of nearest rows, or another form has none.
    """

    kind: FormKind = Field(
        "fixed",
        description="fixed: the support examples. nearest: the rows of the pool that are most like the input, nearest "
        "last. fixed+nearest: the support examples first, then the nearest.",
    )
    nearest: int = Field(0, ge=0, description="Number of demonstrations that are found for each input; 0 for fixed.")

    @model_validator(mode="after")
    def _check_nearest(self) -> Self:
        if self.kind == "fixed" and self.nearest:
            raise ValueError(f"a fixed form finds no rows, and nearest is {self.nearest}; leave it out, or set kind")
        if self.kind != "fixed" and not self.nearest:
            raise ValueError(f"the form {self.kind} finds rows for each input; set nearest to 1 or more")
        return self

    @property
    def name(self) -> str:
        """`fixed`, `nearest 8` or `fixed+nearest 8`."""
        return f"{self.kind} {self.nearest}" if self.nearest else self.kind

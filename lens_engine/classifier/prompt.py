"""What a classifier asks: prompts, and a language model."""

from pydantic import Field

from lens_engine.scoring.base import ScorerIdentity
from lens_engine.types import Record


class Prompt(Record):
    """A permutation, rendered after the instruction of the task, if it has one."""

    rows: tuple[int, ...] = Field(description="Rows of the demonstrations in the dataset, in order.")
    demonstrations: tuple[str, ...] = Field(
        description="Rendered instruction, if there is one, and demonstrations. Joined, they begin the prompt."
    )

    @property
    def text(self) -> str:
        """The beginning of the prompt; the rendered input follows."""
        return "".join(self.demonstrations)


class ModelRecord(Record):
    """The language model whose log-probabilities the head was fitted on."""

    model: str = Field(description="Name of the model.")
    revision: str = Field(description="Revision of the model's files: a SHA-256, or a commit of the Hugging Face hub.")
    dtype: str = Field(description="Precision of the model: float32, bfloat16 or float16.")
    device: str = Field(description="Device on which the model ran.")

    @classmethod
    def of(cls, identity: ScorerIdentity) -> "ModelRecord":
        return cls(model=identity.model, revision=identity.revision, dtype=identity.dtype, device=identity.device)

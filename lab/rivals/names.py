"""The coreset methods by name, and configurations that name them."""

from typing import Literal, get_args

from pydantic import Field

from lens_engine.config import SelectionConfig

CoresetMethod = Literal[
    "herding",
    "k_center",
    "least_confidence",
    "entropy",
    "margin",
    "cal",
    "forgetting",
    "grand",
    "craig",
    "grad_match",
    "facility_location",
    "graph_cut",
    "glister",
]
CORESET_METHODS: tuple[CoresetMethod, ...] = get_args(CoresetMethod)
"""In the order of the paper's table."""


class CoresetConfig(SelectionConfig):
    """All options of one selection by a coreset method."""

    method: CoresetMethod = Field(description="Method that chooses the demonstrations.")  # type: ignore[assignment]

    @classmethod
    def of(cls, config: SelectionConfig, method: CoresetMethod) -> "CoresetConfig":
        """The same options with this method."""
        return cls.model_validate({**config.model_dump(), "method": method})

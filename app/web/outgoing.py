"""What every response type is."""

from pydantic import BaseModel, ConfigDict


class Outgoing(BaseModel):
    """Base of response types."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

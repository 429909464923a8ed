"""The device of a worker, as the worker registers it in Redis and as /readyz shows it."""

from pydantic import BaseModel, Field

REDIS_FIELD = "lens_device"
"""Field of the worker's hash in Redis. RQ writes the other fields, and lets the hash expire with the worker."""


class WorkerDevice(BaseModel):
    """What one worker computes on."""

    device: str = Field(description="Device as torch names it.", examples=["cuda:0"])
    name: str = Field(description="Name of the GPU or of the processor.", examples=["NVIDIA H200"])
    memory_bytes: int | None = Field(
        None, description="Memory of the GPU (bytes); null on a processor.", examples=[150_109_880_320]
    )
    number_format: str | None = Field(
        None,
        description="Number format that the worker tries first; null if it depends on the model.",
        examples=["bfloat16"],
    )

"""Running out of memory: how to know it, and how to give memory back before another try."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from lens_engine.errors import OutOfMemory

# torch raises an error of its own type (`torch.OutOfMemoryError`) only where its CUDA allocator failed. Libraries and
# the driver allocate beside it. These failures are RuntimeErrors, as is `torch.AcceleratorError`.
_WORDINGS = (
    "CUDA error: out of memory",  # the runtime: a context, a stream, pinned memory
    "CUDA driver error: out of memory",  # the driver: expandable segments
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",  # cuDNN 9
    "DefaultCPUAllocator: can't allocate memory",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error says that memory ran out, on any device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(wording in str(error) for wording in _WORDINGS)


@contextmanager
def naming_memory(advice: str) -> Iterator[None]:
    """A context in which memory that runs out is an `OutOfMemory` with the advice.

    Raises:
        OutOfMemory: memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemory(f"memory ran out {advice}") from error


def free_memory() -> None:
    """Collect what nothing refers to, and give torch's unused blocks back to the GPU.

    Call it outside of the `except` block: the traceback of an error refers to all that its frames held.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

"""Running out of memory: how to know it, and how to give memory back before another try."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from lens_engine.errors import OutOfMemory
from lens_engine.model.local.model_files import count_weights

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
    """A context in which memory that runs out is an `OutOfMemory` with the advice."""
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


_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_BYTES_PER_WEIGHT = 4
_LARGEST_SHARE = 0.5  # of the memory: activations and other programs need some as well
_MAX_BYTES_ON_PROCESSORS = 4 << 30
"""A processor checks larger models too slowly."""


def has_room_in_float32(folder: Path, device: torch.device) -> bool:
    """Whether the weights of a folder fit into the device's memory in float32, whatever format they are stored in.

    On CUDA, the memory is what is free on the GPU now. The machine's own memory counts as well: weights pass through
    it on their way to the GPU.
    """
    needed = count_weights(folder) * _BYTES_PER_WEIGHT
    if device.type != "cuda":
        return needed <= _MAX_BYTES_ON_PROCESSORS
    free, _ = torch.cuda.mem_get_info(device)
    return needed <= _LARGEST_SHARE * min(free, machine_bytes())


def machine_bytes() -> int:
    """Memory of the machine, or of its container (bytes); where it is not told, the limit for processors applies."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        machine = int(_MAX_BYTES_ON_PROCESSORS / _LARGEST_SHARE)
    with suppress(OSError, ValueError):  # there is no container, or it has no limit
        machine = min(machine, int(_CONTAINER_LIMIT.read_text()))
    return machine

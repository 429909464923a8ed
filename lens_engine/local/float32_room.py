"""Whether a model fits into memory in float32, where executors are checked before it is loaded in 16 bits."""

import os
from contextlib import suppress
from pathlib import Path

import torch

from lens_engine.local.file_check import count_weights

_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_BYTES_PER_WEIGHT = 4
_LARGEST_SHARE = 0.5  # of the memory: activations and other programs need some as well
_MAX_BYTES_ON_PROCESSORS = 4 << 30
"""A processor checks larger models too slowly."""


def has_room_in_float32(folder: Path, device: torch.device) -> bool:
    """Whether the weights of a folder fit into the device's memory in float32, whatever format they are stored in.

    On CUDA, the memory is what is free on the GPU now. The machine's own memory counts as well: weights pass through
    it on their way to the GPU.

    Raises:
        ValueError, LookupError, TypeError: a header of the weights is damaged.
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

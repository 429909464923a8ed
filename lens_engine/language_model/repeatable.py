"""What torch needs so that equal trainings give equal bits.

On a processor, this holds for equal versions and an equal number of threads. On CUDA, it holds for one kind of card
with equal versions of torch, CUDA and cuBLAS.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import deterministic

from lens_engine.scoring.cache.environment import CUBLAS_WORKSPACE

_memory: Any = deterministic  # its types do not declare its one property
_FIXED_WORKSPACE = ":4096:8"  # eight buffers of 4 MiB: one of the two settings that NVIDIA calls repeatable


def fix_cublas_workspace(device: torch.device) -> None:
    """Let cuBLAS give equal bits in equal calls. A value of the environment that is set already stays.

    cuBLAS reads the environment when the process first multiplies on a card. So call this before.
    """
    if device.type == "cuda":
        os.environ.setdefault(CUBLAS_WORKSPACE, _FIXED_WORKSPACE)


@contextmanager
def repeatable_training(device: torch.device) -> Iterator[None]:
    """A context in which torch uses deterministic algorithms; afterwards its settings are as before.

    An operation that has none runs all the same, and torch warns.
    """
    with ExitStack() as settings:
        settings.enter_context(_deterministic_algorithms())
        if device.type == "cuda":
            # The backward passes of the fused attention kernels add up in any order, unless torch may raise errors
            # for other operations. Plain operations have no such pass.
            settings.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield


@contextmanager
def _deterministic_algorithms() -> Iterator[None]:
    was_on = torch.are_deterministic_algorithms_enabled()
    was_warning = torch.is_deterministic_algorithms_warn_only_enabled()
    was_filling = _memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    _memory.fill_uninitialized_memory = False  # it costs time, and no operation here reads such memory
    try:
        yield
    finally:
        _memory.fill_uninitialized_memory = was_filling
        torch.use_deterministic_algorithms(was_on, warn_only=was_warning)

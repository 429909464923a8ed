"""Training that gives equal bits.

On a processor, this holds for equal versions and an equal number of threads. On CUDA, it holds for one kind of GPU
with equal versions of torch, CUDA and cuBLAS.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import deterministic

_memory: Any = deterministic  # its types do not declare its one property


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

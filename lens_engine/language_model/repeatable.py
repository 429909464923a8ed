"""What torch needs so that equal computations on CUDA give equal bits."""

import os

import torch

from lens_engine.scoring.cache.environment import CUBLAS_WORKSPACE

_FIXED_WORKSPACE = ":4096:8"  # eight buffers of 4 MiB: one of the two settings that NVIDIA calls repeatable


def fix_cublas_workspace(device: torch.device) -> None:
    """Let cuBLAS give equal bits in equal calls. A value of the environment that is set already stays.

    cuBLAS reads the environment when the process first multiplies on a GPU. So call this before.
    """
    if device.type == "cuda":
        os.environ.setdefault(CUBLAS_WORKSPACE, _FIXED_WORKSPACE)

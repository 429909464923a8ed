"""Surroundings: software, hardware and threads, which decide the bits of a score along with model and prompts."""

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path

import torch

CUBLAS_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""The environment variable that sizes cuBLAS's scratch memory, and so decides between its algorithms."""

_CPU_INFO = Path("/proc/cpuinfo")  # Linux only; elsewhere the platform module describes the processor


def describe_surroundings(device: str) -> tuple[str, ...]:
    """Versions, settings of torch and the hardware, in a fixed order.

    The settings are read now: a number of threads that is set later is not included.

    Args:
        device: the model's device, as torch names it. For "cuda:1" the GPU is included, for "cpu" processor and
            threads.
    """
    # The older `get_float32_matmul_precision()` raises once either precision has been changed.
    on_processors = torch.backends.mkldnn.matmul.fp32_precision  # type: ignore[attr-defined]  # not declared
    return (
        f"scoring {_digest_own_sources()}",
        f"torch {torch.__version__}",  # its build too (`+cpu`), which the package's metadata may leave out
        *(f"{library} {version(library)}" for library in ("transformers", "tokenizers")),
        f"products {torch.backends.cuda.matmul.fp32_precision} {on_processors}",
        *(_gpu(device) if device.startswith("cuda") else _cores()),
    )


def _gpu(device: str) -> tuple[str, ...]:
    """What decides the bits of a product on a GPU. A slice of a GPU has fewer multiprocessors, and less memory."""
    matmul, gpu = torch.backends.cuda.matmul, torch.cuda.get_device_properties(device)
    return (
        f"cuda {torch.version.cuda}",
        f"cudnn {torch.backends.cudnn.version()}",  # type: ignore[no-untyped-call]
        f"cublas workspace {os.environ.get(CUBLAS_WORKSPACE, 'default')}",
        f"16-bit sums fp16 {matmul.allow_fp16_reduced_precision_reduction} "
        f"bf16 {matmul.allow_bf16_reduced_precision_reduction}",
        f"GPU {gpu.name}",
        f"multiprocessors {gpu.multi_processor_count}",
        f"memory {gpu.total_memory} bytes",
    )


def _cores() -> tuple[str, ...]:
    capability = torch.backends.cpu.get_cpu_capability()
    return f"processor {platform.machine()} {_processor()} {capability}", f"threads {torch.get_num_threads()}"


def _digest_own_sources() -> str:
    """SHA-256 of the source files of `scoring`: a changed executor may change bits within one version."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(here.rglob("*.py")):
        digest.update(f"{file.relative_to(here).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _processor() -> str:
    lines = _CPU_INFO.read_text("utf-8", "replace").splitlines() if _CPU_INFO.exists() else []
    return next((line for line in lines if line.startswith("model name")), platform.processor())

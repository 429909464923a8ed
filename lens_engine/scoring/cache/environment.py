"""Surroundings: software, hardware and threads, which decide the bits of a score along with model and prompts."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = ("torch", "transformers", "tokenizers")
_CPU_INFO = Path("/proc/cpuinfo")  # Linux only; elsewhere the platform module describes the processor


def describe_surroundings(device: str) -> tuple[str, ...]:
    """Versions, settings of torch and the hardware, in a fixed order. Needs torch.

    The settings are read now: a number of threads that is set later is not included.

    Args:
        device: the model's device, as torch names it. For "cuda:1" the card is included, for "cpu" processor and
            threads.
    """

    return (
        f"scoring {_digest_own_sources()}",
        *(f"{name} {_version(name)}" for name in _LIBRARIES),
        f"products {_products()}",
        *(_card(device) if device.startswith("cuda") else _cores()),
    )


def _products() -> str:
    """The precision of float32 matrix products, on CUDA and on processors.

    The older `get_float32_matmul_precision()` raises once either setting has been changed.
    """
    from torch import backends

    on_processors = backends.mkldnn.matmul.fp32_precision  # type: ignore[attr-defined]  # not declared
    return f"{backends.cuda.matmul.fp32_precision} {on_processors}"


def _card(device: str) -> tuple[str, ...]:
    import torch

    return f"cuda {torch.version.cuda}", f"card {torch.cuda.get_device_name(device)}"


def _cores() -> tuple[str, ...]:
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    return f"processor {platform.machine()} {_processor()} {capability}", f"threads {torch.get_num_threads()}"


def _digest_own_sources() -> str:
    """SHA-256 of the source files of this package: a changed executor may change bits within one version."""
    here = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(here.rglob("*.py")):
        digest.update(f"{file.relative_to(here).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), platform.processor())

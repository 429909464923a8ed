"""What beside model and prompts decides the bits of a score: software, processor, threads."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = ("torch", "transformers", "tokenizers")
_CPU_INFO = Path("/proc/cpuinfo")  # Linux; elsewhere the platform's own words must do


def describe_surroundings(device: str) -> tuple[str, ...]:
    """Versions, how torch is set up, and the hardware, in a fixed order.

    torch is asked here and now: threads that are set later are not seen. Needs torch.

    Args:
        device: the model's, as torch names it: of "cuda:1" the card is told, of "cpu" processor and threads.
    """

    return (
        f"scoring {_digest_own_sources()}",
        *(f"{name} {_version(name)}" for name in _LIBRARIES),
        f"products {_products()}",
        *(_card(device) if device.startswith("cuda") else _cores()),
    )


def _products() -> str:
    """How float32 matrices are multiplied, on CUDA and on processors.

    torch refuses its older question, `get_float32_matmul_precision()`, once either has been set.
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
    """Of the files of this package: who changes an executor changes bits, whatever the version says."""
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

"""Names of number formats, devices and executors -> what torch and the executors call them."""

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path

import torch

from lens_engine.errors import InvalidConfig
from lens_engine.model.local.choices import DTYPES, check_device, check_dtype
from lens_engine.model.local.executor_choice import EXECUTORS
from lens_engine.model.local.executors import ExecutorName
from lens_engine.model.local.memory import naming_memory


def choose_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 on a GPU that multiplies it, and on a processor with AMX; else float32."""
    return torch.bfloat16 if _multiplies_bfloat16(device) else torch.float32


def _multiplies_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Of processors with AVX512_BF16 alone, some take twice as long in bfloat16 as in float32.
    return device.type == "cpu" and torch.cpu._is_amx_tile_supported()


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
    """SHA-256 of the source files of this room: a changed executor may change bits within one version."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(here.rglob("*.py")):
        digest.update(f"{file.relative_to(here).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _processor() -> str:
    lines = _CPU_INFO.read_text("utf-8", "replace").splitlines() if _CPU_INFO.exists() else []
    return next((line for line in lines if line.startswith("model name")), platform.processor())


_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPES}
_FIXED_WORKSPACE = ":4096:8"  # eight buffers of 4 MiB: one of the two settings that NVIDIA calls repeatable


def parse_dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        with naming_memory("at the first look at the device; free it"):
            return choose_dtype(device)
    check_dtype(name)
    return _DTYPES[name]


def open_device(name: str) -> torch.device:
    """The device, ready for its first product."""
    device = _parse_device(name)
    fix_cublas_workspace(device)
    return device


def fix_cublas_workspace(device: torch.device) -> None:
    """Let cuBLAS give equal bits in equal calls. A value of the environment that is set already stays.

    cuBLAS reads the environment when the process first multiplies on a GPU. So call this before.
    """
    if device.type == "cuda":
        os.environ.setdefault(CUBLAS_WORKSPACE, _FIXED_WORKSPACE)


def _parse_device(name: str) -> torch.device:
    check_device(name)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidConfig(f"device {name!r}: torch sees no CUDA device here; use auto or cpu", field="device")
    return device


def parse_executor(name: str) -> list[ExecutorName]:
    found = [known for known in EXECUTORS if name in ("auto", known)]
    if not found:
        raise InvalidConfig(f"executor {name!r} is not one of auto, {', '.join(EXECUTORS)}", field="executor")
    return found

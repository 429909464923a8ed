"""Step machine: versions, settings that decide bits, and how fast matrix products are."""

import inspect
import platform
import subprocess
import time
from collections.abc import Iterator
from importlib.metadata import distributions
from typing import Any

import torch
import transformers

from benchmarks.gpu.runner import Finding, Setting
from benchmarks.measuring.seconds import matmul_rate
from lens_engine.language_model.loading.number_format import rank_dtypes

_PRODUCTS = ((512, 1024, 1024), (4096, 4096, 4096))  # rows, inner size, columns
_SMALL_PRODUCTS = ((64, 128, 128),)
_IN_A_ROW = 10
_NVIDIA_SMI = "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,power.limit,temperature.gpu"


def touch_device(setting: Setting) -> Iterator[Finding]:
    """Step start: a process finds the device and computes on it."""
    yield {"sum": float(torch.ones(8, device=setting.device).sum())}


def read_machine(setting: Setting) -> Iterator[Finding]:
    device = torch.device(setting.device)
    yield {"versions": list_versions()}
    yield {"nvidia-smi": run_tool("nvidia-smi", _NVIDIA_SMI, "--format=csv")}
    yield {"settings": list_settings(device)}
    yield {"signatures": list_signatures()}
    yield {"number formats, best first": [[str(dtype) for dtype in rank_dtypes(device)] for _ in range(3)]}
    for dtype in formats_of(device):
        for size in _SMALL_PRODUCTS if setting.is_rehearsal else _PRODUCTS:
            yield {"dtype": str(dtype), "product": size, "seconds": time_product(size, dtype, device)}
        if not setting.is_rehearsal:
            yield {"dtype": str(dtype), "best TFLOP/s": matmul_rate(dtype, device) / 1e12}


def read_end(_setting: Setting) -> Iterator[Finding]:
    """Step closing: the clocks after the work, and every package."""
    yield {"nvidia-smi": run_tool("nvidia-smi", "-q", "-d", "CLOCK,PERFORMANCE,TEMPERATURE")}
    yield {"packages": {found.name: found.version for found in distributions()}}


def formats_of(device: torch.device) -> tuple[torch.dtype, ...]:
    """The formats that are measured. A processor may need seconds for one product in float16."""
    return (torch.float32, torch.bfloat16, *((torch.float16,) if device.type == "cuda" else ()))


def list_versions() -> dict[str, Any]:
    libraries = {
        found.name: found.version for found in distributions() if found.name.startswith(("nvidia-cu", "triton"))
    }
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "CUDA": torch.version.cuda,
        "ROCm": torch.version.hip,
        "cuDNN": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
        **libraries,
    }


def list_settings(device: torch.device) -> dict[str, Any]:
    """Settings of torch and properties of the card that decide which kernels run, and so the bits."""
    products = torch.backends.cuda.matmul
    settings: dict[str, Any] = {
        "float32 precision": torch.get_float32_matmul_precision(),
        "float16 reduced-precision reduction": products.allow_fp16_reduced_precision_reduction,
        "bfloat16 reduced-precision reduction": products.allow_bf16_reduced_precision_reduction,
        "flash attention": torch.backends.cuda.is_flash_attention_available(),
        "threads": torch.get_num_threads(),
    }
    if device.type == "cuda":
        card = torch.cuda.get_device_properties(device)
        free, total = torch.cuda.mem_get_info(device)
        settings |= {
            "card": card.name,
            "capability": [card.major, card.minor],
            "multiprocessors": card.multi_processor_count,
            "memory, GiB": round(total / 2**30, 1),
            "free memory, GiB": round(free / 2**30, 1),
        }
    return settings


def list_signatures() -> dict[str, str]:
    """The attention functions of this torch, whose parameters differ between releases."""
    signatures = {"aten._flash_attention_forward": str(torch.ops.aten._flash_attention_forward.default._schema)}
    try:
        from torch.nn.attention.varlen import varlen_attn

        signatures["varlen_attn"] = str(inspect.signature(varlen_attn))
    except ImportError as error:
        signatures["varlen_attn"] = str(error)
    return signatures


def time_product(size: tuple[int, int, int], dtype: torch.dtype, device: torch.device) -> dict[str, float]:
    """Seconds of one product: alone, with launch and wait, and in a row of ten. Medians of seven and of three."""
    rows, inner, columns = size
    left = torch.randn(rows, inner, device=device).to(dtype)
    right = torch.randn(inner, columns, device=device).to(dtype)

    def run(repeats: int) -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            torch.matmul(left, right)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return (time.perf_counter() - start) / repeats

    for _ in range(3):
        run(1)
    return {
        "alone": sorted(run(1) for _ in range(7))[3],
        "in a row": sorted(run(_IN_A_ROW) for _ in range(3))[1],
    }


def run_tool(*command: str) -> str:
    """What a program printed, or why it could not run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=8, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)

"""What a worker looks at before it takes work: its models and its device, or the cluster that has both.

The look happens in short-lived child processes, because the parent must import neither torch nor start CUDA: its
work-horses are forks. A look that finds a fault raises UnfitWorker.
"""

import logging
import multiprocessing
import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from app.settings import Settings
from lens_engine.errors import InvalidConfig, LensError
from lens_engine.model.base import SERVER
from lens_engine.model.cluster.scorer import find_place
from lens_engine.model.local.choices import DTYPES
from lens_engine.model.local.model_files import check_files, find_tokenizer, first_line, resolve_model
from worker.model_loading import TESTING_PREFIX, least_bytes
from worker.parent import die_with_parent

_GIB = 1 << 30
_CPU_INFO = Path("/proc/cpuinfo")
_TRIAL_ROWS = 256
_FIRST_BFLOAT16 = (8, 0)  # compute capability (Ampere)


class UnfitWorker(Exception):
    """The worker must not start. The message is one sentence for the operator, and says how to fix it."""


class GpuAbsent(Exception):
    """torch has no such GPU. The message says why."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU or a processor. Memory is in bytes. A processor has None wherever only a GPU has a value."""

    torch_name: str  #: "cpu", "mps", "cuda:0"
    name: str  #: "NVIDIA H200", or the name of the processor
    capability: tuple[int, int] | None = None  #: CUDA compute capability
    total_bytes: int | None = None
    free_bytes: int | None = None
    number_format: str | None = None  #: tried first; None if it depends on the model

    def __str__(self) -> str:
        facts = [self.torch_name]
        if self.capability is not None:
            facts.append("compute capability {}.{}".format(*self.capability))
        if self.total_bytes is not None and self.free_bytes is not None:
            facts.append(f"{_gib(self.free_bytes)} of {_gib(self.total_bytes)} free")
        if self.number_format is not None:
            facts.append(self.number_format)
        return f"{self.name} ({', '.join(facts)})"


def read_gpu(index: int, dtype: str) -> Device:
    """Look at GPU number `index` among those that this process may see, and compute on it once.

    `dtype`: "float32", "bfloat16", "float16", or "auto" for the format that suits the GPU.
    """
    import torch

    with warnings.catch_warnings(record=True) as caught:  # torch warns of a driver that is too old, and says False
        warnings.simplefilter("always")
        is_there = torch.cuda.is_available()
    if not is_there and torch.version.cuda is None:
        raise GpuAbsent("this torch is a build without CUDA")
    if not is_there:
        reason = f": {str(caught[-1].message).strip().splitlines()[0]}" if caught else ""
        raise GpuAbsent(f"torch sees no CUDA GPU here{reason}")
    count = torch.cuda.device_count()
    if index >= count:
        raise GpuAbsent(f"torch sees GPUs up to cuda:{count - 1} here")
    device = torch.device("cuda", index)
    found: Any = torch.cuda.get_device_properties(device)
    free_bytes, total_bytes = torch.cuda.mem_get_info(device)
    number_format = _try_format(device, dtype)
    return Device(str(device), found.name, (found.major, found.minor), total_bytes, free_bytes, number_format)


ReadGpu = Callable[[int, str], Device]
"""As `read_gpu`: index and number format to a GPU."""


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / _GIB:.1f} GiB"


def find_device(settings: Settings, read: ReadGpu = read_gpu) -> Device:
    """The device that `settings.device` names; UnfitWorker if it is not there, or does not compute."""
    kind, _, number = settings.device.partition(":")
    if kind == "cpu":
        return _processor("cpu", settings)
    if kind == "mps":
        import torch

        if not torch.backends.mps.is_available():
            raise UnfitWorker("LENS_DEVICE is mps, and torch sees no Metal device here; set LENS_DEVICE to auto or cpu")
        return _processor("mps", settings)
    try:
        device = read(int(number or 0), settings.dtype)
    except GpuAbsent as absence:
        if kind != "auto":
            raise UnfitWorker(
                f"LENS_DEVICE is {settings.device}, and {absence}; give the worker its GPU, or set LENS_DEVICE to "
                "another device (auto, cpu)"
            ) from absence
        _log.warning("LENS_DEVICE is auto, and %s: this worker computes on the processor", absence)
        return _processor("cpu", settings)
    except (RuntimeError, ImportError) as error:
        raise UnfitWorker(f"GPU {int(number or 0)} does not compute: {first_line(error)}") from error
    if settings.dtype in ("auto", "bfloat16") and (device.capability or _FIRST_BFLOAT16) < _FIRST_BFLOAT16:
        _log.warning("%s has no units for bfloat16, so LENS_DTYPE=float16 is faster", device)
    return device


def check_room(device: Device, weights: Mapping[str, int]) -> None:
    """Raise UnfitWorker where the weights of a model (bytes) do not fit, or another process holds the memory."""
    if device.total_bytes is None or device.free_bytes is None:
        return
    for name, least in weights.items():
        if least > device.total_bytes:
            raise UnfitWorker(
                f"the weights of model {name!r} take at least {_gib(least)}, and {device.name} has "
                f"{_gib(device.total_bytes)}; take the model out of LENS_ALLOWED_MODELS, or use a larger GPU"
            )
        if least > device.free_bytes:
            raise UnfitWorker(
                f"the weights of model {name!r} take at least {_gib(least)}, and {_gib(device.free_bytes)} of "
                f"{device.name} are free; end the other process on the GPU (nvidia-smi shows it)"
            )


def _try_format(device: Any, dtype: str) -> str:
    """Multiply in the number format, because a GPU that torch lists may lack kernels or be broken."""
    import torch

    from lens_engine.model.local.torch_choices import choose_dtype

    chosen = choose_dtype(device) if dtype == "auto" else getattr(torch, dtype)
    ones = torch.ones(_TRIAL_ROWS, _TRIAL_ROWS, dtype=chosen, device=device)
    found = float((ones @ ones)[0, 0])
    if found != _TRIAL_ROWS:
        raise RuntimeError(f"a product of matrices gave {found} instead of {_TRIAL_ROWS}")
    return str(chosen).removeprefix("torch.")


def _processor(torch_name: str, settings: Settings) -> Device:
    lines = _CPU_INFO.read_text("utf-8", "replace").splitlines() if _CPU_INFO.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    name = next(names, platform.processor() or platform.machine())
    return Device(torch_name, name, number_format=settings.dtype if settings.dtype in DTYPES else None)


LOOK_SECONDS = 300.0
"""Time limit of the look at a device. Importing torch takes seconds, and a driver that hangs takes for ever."""

THIS_MACHINE = "local"
"""The address for which Ray is started on the worker's machine, anew for each job."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


def inspect(settings: Settings, read: ReadGpu = read_gpu) -> Device:
    """Check the allowed models and the device of a worker. Returns the device.

    With LENS_RAY_ADDRESS, the devices are those of the cluster, and the models lie on its machines.
    """
    if settings.worker_models == "endpoints":
        return in_child(partial(check_endpoints, settings), "the look at the endpoints", seconds=LOOK_SECONDS)
    weights = {}
    if (settings.ray_address or THIS_MACHINE) == THIS_MACHINE:
        weights = in_child(partial(weigh_models, settings), "the look at the models", seconds=None)
    if settings.ray_address:
        device = in_child(partial(find_cluster, settings), "the look at Ray", seconds=LOOK_SECONDS)
    else:
        what = f"the look at the device {settings.device!r}"
        device = in_child(partial(find_device, settings, read), what, seconds=LOOK_SECONDS)
    check_room(device, weights)
    _log.info("computes on %s", device)
    return device


def check_endpoints(settings: Settings) -> Device:
    """Check what a worker needs that asks servers. No server is asked yet: a job says what it finds."""
    if not settings.endpoints:
        raise UnfitWorker("LENS_WORKER_MODELS is endpoints, and LENS_ENDPOINTS names no model")
    _check_packages(("httpx", "tokenizers"), "service,endpoint")
    for name, one in settings.endpoints.items():
        try:
            one.read_key()
        except LensError as error:
            raise UnfitWorker(f"model {name!r} of LENS_ENDPOINTS cannot be asked: {error}") from error
        if one.tokenizer is not None and find_tokenizer(one.tokenizer, settings.cache_dir) is None:
            raise UnfitWorker(
                f"model {name!r} of LENS_ENDPOINTS: there is no {one.tokenizer}/tokenizer.json on this machine; mount "
                "the folder, or name no tokenizer, to ask the server"
            )
    return Device(torch_name=SERVER, name="servers of models")


def weigh_models(settings: Settings) -> dict[str, int]:
    """The least memory that the weights of each allowed model take (bytes), after a check of its files."""
    allowed = settings.allowed_models.items()
    models = {name: reference for name, reference in allowed if not reference.startswith(TESTING_PREFIX)}
    _check_packages(("torch", "transformers") if models else (), "service,model")
    return {name: _weigh(name, reference, settings) for name, reference in models.items()}


def _check_packages(needed: Sequence[str], extras: str) -> None:
    for package in needed:
        if find_spec(package) is None:
            install = f"pip install -c constraints.txt '.[{extras}]'"
            raise UnfitWorker(f"{package} is not installed; in the folder of Lens, run: {install}")


def find_cluster(settings: Settings) -> Device:
    """The devices of the cluster, as one. Neither the model's files nor torch are needed here."""
    try:
        with find_place(settings.ray_address, settings.ray_actors, settings.device) as place:
            return Device(torch_name=place.device, name=f"Ray ({place.actors} actors)")
    except InvalidConfig as error:
        raise UnfitWorker(f"LENS_RAY_ADDRESS is {settings.ray_address}, and {error}") from error


def in_child(look: Callable[[], T], what: str, *, seconds: float | None) -> T:
    """The value of `look`, computed in a short-lived child process within some seconds (None: any). UnfitWorker of the
    look is raised here. `what`: name of the look, for the error.
    """
    context = multiprocessing.get_context("fork")  # as a work-horse, and without a second start of Python
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(look, sender, os.getpid()), name="inspection", daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise UnfitWorker(f"{what} did not end within {seconds:.0f} s; restart the machine or its driver")
        answer = receiver.recv()
    except EOFError:
        child.join()
        raise UnfitWorker(f"{what} died with exit code {child.exitcode}; the log says more") from None
    finally:
        child.kill()
        child.join()
        receiver.close()
    if isinstance(answer, UnfitWorker):
        raise answer
    found: T = answer
    return found


def _answer(look: Callable[[], object], sender: Connection, parent_id: int) -> None:
    die_with_parent(parent_id)
    try:
        answer: object = look()
    except UnfitWorker as refusal:
        answer = UnfitWorker(str(refusal))
    sender.send(answer)
    sender.close()


def _weigh(name: str, reference: str, settings: Settings) -> int:
    try:
        source = resolve_model(reference, settings.cache_dir)
        check_files(source)
        return least_bytes(source, settings.dtype)
    except (LensError, OSError) as error:
        raise UnfitWorker(f"model {name!r} of LENS_ALLOWED_MODELS cannot be used here: {first_line(error)}") from error

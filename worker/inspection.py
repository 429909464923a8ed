"""What a worker looks at before it takes work: its models and its device, or the cluster that has both.

The look happens in short-lived child processes, because the parent must import neither torch nor start CUDA: its
work-horses are forks. A look that finds a fault raises UnfitWorker.
"""

import logging
import multiprocessing
import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import TypeVar

from app.settings import Settings
from lens_engine.errors import InvalidConfig, LensError
from lens_engine.model.base import SERVER
from lens_engine.model.cluster.scorer import find_place
from lens_engine.model.local.model_files import check_files, find_tokenizer, resolve_model
from worker.device import Device, ReadGpu, UnfitWorker, check_room, find_device, first_line, read_gpu
from worker.model_loading import TESTING_PREFIX, least_bytes
from worker.parent import die_with_parent

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
    """The value of `look`, computed in a short-lived child process. UnfitWorker of the look is raised here.

    Args:
        what: name of the look, for the error.
        seconds: time limit; None for none.
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

"""Where actors find their place: a connection to Ray, their number, and what each has. Needs the extra `cluster`."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from lens_engine.errors import InvalidConfig
from lens_engine.local.processors import count_processors

_OBJECT_STORE_BYTES = 256 * 2**20  # Ray would reserve a third of the memory, but scores are small
_KNOCK_SECONDS = 10.0


class Placement(NamedTuple):
    """How many actors there are, and what each has: a GPU, or threads of a processor."""

    actors: int
    device: str  #: "cpu" or "cuda"
    threads: int | None  #: of torch on the CPU; None on CUDA


@contextmanager
def find_place(address: str | None, actors: int | None, device: str) -> Iterator[Placement]:
    """Connect to Ray, and find out where its devices let actors run. The connection ends with the context.

    On the CPU, an actor has OMP_NUM_THREADS torch threads, or else an equal share of this machine's cores.

    Args:
        address: "host:port" of a cluster of which this machine is a node, or "auto"; None or "local" starts Ray here.
        actors: number of actors; None for one on each GPU of the cluster.
        device: "cuda", "cpu", or "auto" for CUDA if the cluster has GPUs.

    Raises:
        InvalidConfig: Ray is missing or cannot be reached, or the cluster is too small.
    """
    if actors is not None and actors < 1:
        raise InvalidConfig(f"actors must be at least 1, not {actors}", field="actors")
    if device not in {"auto", "cpu", "cuda"}:
        problem = f"device {device!r} is one device; several actors take auto, cpu or cuda"
        raise InvalidConfig(problem, field="device")
    cores, given = count_processors(), os.environ.get("OMP_NUM_THREADS", "")
    share = (int(given) if given.isdecimal() else 0) or max(1, cores // (actors or 1))
    with _connected(address, max(cores, share * (actors or 1)), 0 if device == "cpu" else None) as ray:
        has = ray.cluster_resources()  # busy or free
        if device == "auto":
            device = "cuda" if has.get("GPU", 0) >= 1 else "cpu"
        if not (actors := actors or (int(has.get("GPU", 0)) if device == "cuda" else 0)):
            problem = "without a GPU in Ray, the number of actors must be given: each is a process with the model"
            raise InvalidConfig(problem, field="actors")
        kind, needed = ("CPU", actors * share) if device == "cpu" else ("GPU", actors)
        if needed > has.get(kind, 0):
            problem = f"{actors} actors need {needed} {kind}s, and Ray has {has.get(kind, 0):g}"
            raise InvalidConfig(f"{problem}; ask for fewer actors, or for another device", field="actors")
        yield Placement(actors, device, share if device == "cpu" else None)


def import_ray() -> Any:
    """The module `ray`, with its usage reports off unless the environment turns them on."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        install = "in the folder of Lens, run: pip install -c constraints.txt '.[cluster]'"
        raise InvalidConfig(f"several actors need Ray, which is not installed; {install}", field="actors") from error
    return ray


@contextmanager
def _connected(address: str | None, num_cpus: int, num_gpus: int | None) -> Iterator[Any]:
    """The module `ray`, connected. Ray is started here with these numbers of CPUs and GPUs (None: all), or joined."""
    ray = import_ray()
    if ray.is_initialized():  # the connection of the process stays
        yield ray
        return
    logging.getLogger("ray").setLevel(logging.ERROR)
    handler = signal.getsignal(signal.SIGTERM)
    _connect(ray, address or "local", num_cpus, num_gpus)
    try:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray has set its own
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str, num_cpus: int, num_gpus: int | None) -> None:
    """Start or join Ray, or refuse the address (InvalidConfig)."""
    try:
        if address not in {"local", "auto"}:  # Ray would try for minutes
            host, found, port = address.rpartition(":")
            if not found or "/" in address or not port.isdecimal():
                raise ValueError("this is not host:port")
            socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()
        here = {"num_cpus": num_cpus, "num_gpus": num_gpus, "object_store_memory": _OBJECT_STORE_BYTES}
        options: dict[str, Any] = {**here, "include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        if address == "local":
            raise InvalidConfig(f"Ray could not be started on this machine: {error}", field="actors") from error
        raise InvalidConfig(
            f"Ray could not be reached at {address!r}: {error}; give host:port of a running head of which this machine "
            "is a node, and in RAY_AUTH_MODE=token and RAY_AUTH_TOKEN its token if it has one",
            field="ray_address",
        ) from error

"""A session of Ray: a new cluster on this machine, or a running cluster. Needs the extra `cluster`."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lens_engine.errors import InvalidConfig

_OBJECT_STORE_BYTES = 256 * 2**20
"""Size of Ray's object store (bytes). Ray would reserve a third of the memory, but scores are small."""

_KNOCK_SECONDS = 10.0


class RaySession:
    """A connection to Ray; also ends the cluster if this process started it."""

    def __init__(self, *, is_ours: bool) -> None:
        self._is_ours = is_ours

    @classmethod
    def open(cls, address: str | None, *, num_cpus: int, num_gpus: int | None) -> "RaySession":
        """Connect to `address`; None or "local" starts Ray here, with `num_cpus` CPUs and `num_gpus` GPUs (None: all).

        If the process is already connected, the connection is used, and `close` does not end it.

        Raises:
            InvalidConfig: Ray is not installed, or no cluster answers.
        """
        ray = import_ray()
        if ray.is_initialized():
            return cls(is_ours=False)
        if address in {None, "local"}:
            here: dict[str, Any] = {"num_cpus": num_cpus, "num_gpus": num_gpus, "include_dashboard": False}
            address, options = "local", here | {"object_store_memory": _OBJECT_STORE_BYTES}
        else:
            options = {}
        with _as_invalid_address(address), _undisturbed():
            _knock(address)
            ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
        return cls(is_ours=True)

    def resources(self) -> dict[str, float]:
        """Resources of the cluster, busy or free: "CPU", "GPU" and others."""
        found: dict[str, float] = import_ray().cluster_resources()
        return found

    def close(self) -> None:
        if self._is_ours:
            with _undisturbed():
                import_ray().shutdown()


def import_ray() -> Any:
    """The module `ray`; its usage reports are off unless the environment turns them on.

    Raises:
        InvalidConfig: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        install = "pip install -c constraints.txt '.[cluster]'"
        raise InvalidConfig(
            f"several actors need Ray, which is not installed; in the folder of Lens, run: {install}", field="actors"
        ) from error
    return ray


def _knock(address: str) -> None:
    """Check that something listens at `address`, because Ray would try for minutes.

    Raises:
        OSError: nothing listens at the address.
        ValueError: the address is neither a keyword of Ray nor host:port.
    """
    if address in {"local", "auto"}:
        return
    host, found, port = address.rpartition(":")
    if not found or "/" in address or not port.isdecimal():
        raise ValueError("this is not host:port")
    socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()


@contextmanager
def _as_invalid_address(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        if address == "local":
            raise InvalidConfig(f"Ray could not be started on this machine: {error}", field="actors") from error
        raise InvalidConfig(
            f"Ray could not be reached at {address!r}: {error}; give host:port of a running head of which this machine "
            "is a node, and in RAY_AUTH_MODE=token and RAY_AUTH_TOKEN its token if it has one",
            field="ray_address",
        ) from error


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A context in which Ray logs only errors, and after which the process has its own SIGTERM handler again."""
    logger = logging.getLogger("ray")
    level, handler = logger.level, signal.getsignal(signal.SIGTERM)
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)

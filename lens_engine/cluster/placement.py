"""Where actors find their place: a connection to Ray, the number of actors, and what Ray reserves for each."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lens_engine.cluster.session import RaySession
from lens_engine.errors import InvalidConfig
from lens_engine.local.processors import count_processors


@dataclass(frozen=True, slots=True)
class Placement:
    """How many actors there are, and what each has."""

    actors: int
    device: str  #: "cuda" or "cpu"
    threads: int | None  #: of torch; None for torch's own choice

    @property
    def needs(self) -> dict[str, float]:
        """What Ray reserves for each actor."""
        if self.device == "cuda":
            return {"num_cpus": 1, "num_gpus": 1}
        return {"num_cpus": self.threads or 1, "num_gpus": 0}


@contextmanager
def find_place(address: str | None, actors: int | None, device: str, threads: int | None = None) -> Iterator[Placement]:
    """Connect to Ray, and find out where its devices let actors run. The connection ends with the context.

    Args:
        address: "host:port" of a running cluster of which this machine is a node, or "auto"; None or "local" starts
            Ray on this machine.
        actors: number of actors; None for one on each GPU of the cluster.
        device: "cuda", "cpu", or "auto" for CUDA if the cluster has GPUs.
        threads: number of torch threads of each actor; by default, on the CPU, OMP_NUM_THREADS of this process, or else
            an equal share of this machine's cores.

    Raises:
        InvalidConfig: Ray is missing or cannot be reached, or the cluster is too small.
    """
    if actors is not None and actors < 1:
        raise InvalidConfig(f"actors must be at least 1, not {actors}", field="actors")
    if device not in {"auto", "cpu", "cuda"}:
        raise InvalidConfig(
            f"device {device!r} is one device; several actors take auto, cpu or cuda, and Ray gives each its own",
            field="device",
        )
    cores = count_processors()
    given = os.environ.get("OMP_NUM_THREADS", "")
    share = threads or (int(given) if given.isdecimal() else 0) or max(1, cores // (actors or 1))
    num_gpus = 0 if device == "cpu" else None
    session = RaySession.open(address, num_cpus=max(cores, share * (actors or 1)), num_gpus=num_gpus)
    try:
        has = session.resources()
        if device == "auto":
            device = "cuda" if has.get("GPU", 0) >= 1 else "cpu"
        place = Placement(_count(actors, device, has), device, share if device == "cpu" else threads)
        _check_room(place, has)
        yield place
    finally:
        session.close()


def _count(actors: int | None, device: str, has: dict[str, float]) -> int:
    if actors is not None:
        return actors
    if device == "cpu" or not (gpus := int(has.get("GPU", 0))):
        raise InvalidConfig(
            "without a GPU in Ray, the number of actors must be given: each is a process that holds the model",
            field="actors",
        )
    return gpus


def _check_room(place: Placement, has: dict[str, float]) -> None:
    for kind, needed in (("GPU", place.needs["num_gpus"]), ("CPU", place.needs["num_cpus"])):
        if place.actors * needed > has.get(kind, 0):
            raise InvalidConfig(
                f"{place.actors} actors need {place.actors * needed:g} {kind}s, and Ray has {has.get(kind, 0):g}; "
                "ask for fewer actors, or for another device",
                field="actors",
            )

"""What a worker computes on, and why a worker may not start. Nothing here needs torch or a GPU."""

from dataclasses import dataclass

from app.worker_device import WorkerDevice

_GIB = 1 << 30


class UnfitWorker(Exception):
    """The worker must not start. The message is one sentence for the operator, and says how to fix it."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU or a processor. Memory is in bytes. A processor has None wherever only a GPU has a value."""

    torch_name: str  #: "cpu", "mps", "cuda:0"
    name: str  #: "NVIDIA H200", or the name of the processor
    capability: tuple[int, int] | None = None  #: CUDA compute capability
    driver: str | None = None  #: version of NVIDIA's kernel module; None where it cannot be read
    total_bytes: int | None = None
    free_bytes: int | None = None
    number_format: str | None = None  #: tried first; None if it depends on the model

    def register(self) -> WorkerDevice:
        """What other processes may know of the device."""
        return WorkerDevice(
            device=self.torch_name,
            name=self.name,
            memory_bytes=self.total_bytes,
            number_format=self.number_format,
        )

    def __str__(self) -> str:
        facts = [self.torch_name]
        if self.capability is not None:
            facts.append("compute capability {}.{}".format(*self.capability))
        if self.driver is not None:
            facts.append(f"driver {self.driver}")
        if self.total_bytes is not None and self.free_bytes is not None:
            facts.append(f"{in_gib(self.free_bytes)} of {in_gib(self.total_bytes)} free")
        if self.number_format is not None:
            facts.append(self.number_format)
        return f"{self.name} ({', '.join(facts)})"


def in_gib(num_bytes: int) -> str:
    return f"{num_bytes / _GIB:.1f} GiB"

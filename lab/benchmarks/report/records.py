"""The results of the benchmarks, as they are stored in JSON."""

import os
import platform
import re
import statistics
from pathlib import Path

import torch

from lab.benchmarks.machine import find_version
from lens_engine.types import Record

_PACKAGES = ("torch", "transformers", "lm-eval")


class Machine(Record):
    """The machine of a measurement."""

    processor: str
    accelerator: str | None
    threads: int
    load: float  #: of the machine in the minute before the measurement, from all processes
    packages: dict[str, str]  #: versions by name

    def describe(self) -> str:
        """A sentence. The load tells whether other processes were in the way."""
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        device = self.accelerator or f"{self.processor}, {self.threads} threads"
        return f"{device}; {packages}; load {self.load} when it began."


class EngineRun(Record):
    """One engine on its sample of one workload."""

    engine: str
    dtype: str
    note: str
    prefixes: int  #: of the sample
    queries: int
    wall: tuple[float, ...]  #: seconds of each repetition
    cpu: tuple[float, ...]
    fed_tokens: int  #: in one repetition, padding included
    ideal_tokens: int  #: minimum for this number of pairs of the whole workload
    label_positions: int  #: positions whose logits are needed
    peak_bytes: int | None
    delta: float | None = None  #: max |Δ log p| against plain in float32, on a small part of the work
    delta_float32: float | None = None  #: the same, with this engine in float32 too

    @property
    def pairs(self) -> int:
        return self.prefixes * self.queries

    @property
    def seconds(self) -> float:
        return statistics.median(self.wall)

    @property
    def pairs_per_second(self) -> float:
        return self.pairs / self.seconds

    @property
    def pairs_per_cpu_second(self) -> float:
        return self.pairs / statistics.median(self.cpu)

    @property
    def tokens_per_second(self) -> float:
        """Unique tokens: each prefix once and each suffix once, whatever the engine fed."""
        return self.ideal_tokens / self.seconds

    @property
    def fed_ratio(self) -> float:
        return self.fed_tokens / self.ideal_tokens


class WorkloadRun(Record):
    """All engines on one workload, in one interleaved run."""

    key: str
    title: str
    model: str
    prefixes: int
    queries: int
    labels: int
    executor: str  #: executor that "auto" chooses for this model
    matrix_weights: int
    head_weights: int
    engines: tuple[EngineRun, ...]
    share_cut: float  #: share of the prompts that the authors' fixed length cuts

    def flops_per_second(self, run: EngineRun) -> float:
        """Minimum of floating-point operations for the pairs of this run, without attention, a second."""
        flops = 2.0 * (self.matrix_weights * run.ideal_tokens + self.head_weights * run.label_positions)
        return flops / run.seconds


class ComparisonRecord(Record):
    """One run of `lab.benchmarks.run`."""

    machine: Machine
    model: str
    device: str
    dtype: str
    seconds_per_repetition: float
    matmul_flops: dict[str, float]  #: the measured peak, by number format
    workloads: tuple[WorkloadRun, ...]

    def write(self, path: Path) -> None:
        """Write as JSON; the folder is made if it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.model_dump_json(indent=1) + "\n", "utf-8")


def describe_machine(device: torch.device) -> Machine:
    return Machine(
        processor=_processor(),
        accelerator=torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        threads=torch.get_num_threads(),
        load=round(os.getloadavg()[0], 2),
        packages={name: found for name in _PACKAGES if (found := find_version(name))},
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return found[1] if found else platform.processor() or platform.machine()

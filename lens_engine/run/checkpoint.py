"""Checkpoints: the state from which a run resumes as if it had never stopped.

A run saves one after each filtering round, each search iteration and each step of the comparison. A step that was cut
off is done again; the pair cache has what it scored.
A checkpoint holds no state of random generators: each step derives its own generator (randomness.py).
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lens_engine.disk.replace_file import replace_file
from lens_engine.errors import CheckpointDamaged, CheckpointForeign
from lens_engine.result import SelectionResult
from lens_engine.types import Phase

_DIGEST_BYTES = hashlib.sha256().digest_size

UNREADABLE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, EOFError, zipfile.BadZipFile)
"""What reading an intact checkpoint of an unknown form may raise; a ValidationError of pydantic is a ValueError.

Not every Exception: a worker's time limit and shutdown are exceptions too, and may come at any line.
"""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after `step` steps of `phase`.

    `fingerprint` identifies the run and where it computes: device, number format and executor. `dtype` is the number
    format of the scores and `device` the kind of device ("cpu", "cuda"); a resumed run must use the same.

    `result_if_cancelled` makes the result of a run that is cancelled here; None before any examples were chosen. It is
    not among the bytes, and a store may call it only while `CheckpointStore.save` runs.
    """

    fingerprint: str
    phase: Phase
    step: int
    dtype: str
    values: dict[str, Any] = field(default_factory=dict)  #: JSON values
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    device: str = ""
    result_if_cancelled: Callable[[], SelectionResult | None] | None = field(default=None, repr=False, compare=False)

    def to_bytes(self) -> bytes:
        """The SHA-256 of an .npz archive without pickles, followed by the archive."""
        header = {
            "fingerprint": self.fingerprint,
            "phase": self.phase,
            "step": self.step,
            "dtype": self.dtype,
            "values": self.values,
            "device": self.device,
        }
        encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer, allow_pickle=False, header=encoded, **{f"array_{k}": v for k, v in self.arrays.items()}
        )
        body = buffer.getvalue()
        return hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> "Checkpoint":
        """Read the bytes that `to_bytes` wrote.

        Raises:
            CheckpointDamaged: the bytes are incomplete or changed.
            CheckpointForeign: the bytes are intact, and their form is unknown.
        """
        digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            raise CheckpointDamaged("the checkpoint's bytes do not match their digest; start the run afresh")
        try:
            return cls._parse(body)
        except UNREADABLE as error:
            raise CheckpointForeign("the checkpoint has a form that Lens cannot read; start the run afresh") from error

    @classmethod
    def _parse(cls, body: bytes) -> "Checkpoint":
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            arrays = {name[len("array_") :]: archive[name] for name in archive.files if name != "header"}
        return cls(
            fingerprint=header["fingerprint"],
            phase=Phase(header["phase"]),
            step=header["step"],
            dtype=header["dtype"],
            values=header["values"],
            arrays=arrays,
            device=header["device"],
        )


class CheckpointStore(Protocol):
    """Keeps the newest checkpoint of one run. `save` must be atomic: a crash leaves the old or the new one."""

    def load(self) -> Checkpoint | None: ...

    def save(self, checkpoint: Checkpoint) -> None: ...


class MemoryCheckpointStore:
    """Keeps the newest checkpoint in memory; the default."""

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self._checkpoint = checkpoint

    def load(self) -> Checkpoint | None:
        return self._checkpoint

    def save(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint


class FileCheckpointStore:
    """Keeps the newest checkpoint in one file, replaced atomically."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Checkpoint | None:
        return Checkpoint.from_bytes(self._path.read_bytes()) if self._path.exists() else None

    def save(self, checkpoint: Checkpoint) -> None:
        replace_file(self._path, checkpoint.to_bytes(), is_only_writer=True)

"""The state of a run: everything that it has found so far, and its form in a checkpoint."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.quality import RowFigures
from lens_engine.disk import replace_file
from lens_engine.errors import CheckpointDamaged, CheckpointForeign
from lens_engine.metering.prices import Cost
from lens_engine.method.lens import LensState
from lens_engine.model.spending import Paid
from lens_engine.result import SelectionResult
from lens_engine.run.judge import Judging
from lens_engine.types import IndexArray, LabelLogProbs, Phase, Record

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


class TestedFigures(Record):
    """The answers of a classifier to the test rows."""

    __test__ = False  # pytest would collect the class

    answers: tuple[int, ...]
    confidences: tuple[float, ...]  #: probability of each answer
    losses: tuple[float, ...]  #: of the gold label (nats)

    @classmethod
    def of(cls, found: RowFigures) -> "TestedFigures":
        columns = (found.answers, found.confidences, found.losses)
        return cls(**dict(zip(cls.model_fields, (tuple(one.tolist()) for one in columns), strict=True)))

    def figures(self, gold: IndexArray) -> RowFigures:
        return RowFigures(gold, np.array(self.answers), np.array(self.confidences), np.array(self.losses))


@dataclass(frozen=True)
class RunState:
    """The state between two steps of a run."""

    lens: LensState | None = None  #: None without a search
    judging: Judging | None = None  #: None before the prompts are proposed
    candidates: tuple[Candidate, ...] = ()  #: for the classifier
    tested: Mapping[int, LabelLogProbs] = field(default_factory=dict)  #: `[test_rows, labels]` of prompts, by place
    tested_classifiers: Mapping[int, TestedFigures] = field(default_factory=dict)  #: by place of the candidate
    done: tuple[str, ...] = ()  #: finished steps
    skipped: tuple[str, ...] = ()  #: those of them that the budget did not cover
    cut_off: Phase | None = None  #: phase in which a limit ended the search or the judging
    spent: Cost = Cost()
    seconds: float = 0.0
    pairs_from_cache: int = 0
    refused: int = 0
    paid: Paid = Paid()

    @property
    def is_short(self) -> bool:
        """Whether the budget left a step out, or ended one."""
        return bool(self.skipped) or self.cut_off is not None

    def to_checkpoint(self, fingerprint: str, dtype: str, phase: Phase, step: int) -> Checkpoint:
        lens, arrays = (None, dict[str, NDArray[Any]]()) if self.lens is None else self.lens.pack()
        judging = None
        if self.judging is not None:
            arrays |= {f"cells_{place}": cells for place, cells in self.judging.cells.items()}
            judging = [list(self.judging.left), self.judging.rungs_done]
        arrays |= {f"tested_{place}": scores for place, scores in self.tested.items()}
        values = {
            "lens": lens,
            "judging": judging,
            "candidates": [one.model_dump(mode="json") for one in self.candidates],
            "tested_classifiers": {place: one.model_dump() for place, one in self.tested_classifiers.items()},
            "done": list(self.done),
            "skipped": list(self.skipped),
            "cut_off": self.cut_off,
            "spent": [self.spent.pairs, self.spent.tokens, self.seconds],
            "pairs_from_cache": self.pairs_from_cache,
            "refused": self.refused,
            "paid": astuple(self.paid),
        }
        return Checkpoint(fingerprint, phase, step, dtype, values, arrays)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> "RunState":
        values, arrays = checkpoint.values, checkpoint.arrays
        pairs, tokens, seconds = values["spent"]
        judging = None
        if values["judging"] is not None:
            left, rungs_done = values["judging"]
            judging = Judging(_pick(arrays, "cells_"), tuple(left), rungs_done)
        return cls(
            lens=None if values["lens"] is None else LensState.unpack(values["lens"], arrays),
            judging=judging,
            candidates=tuple(Candidate.model_validate(one) for one in values["candidates"]),
            tested=_pick(arrays, "tested_"),
            tested_classifiers={
                int(place): TestedFigures.model_validate(one) for place, one in values["tested_classifiers"].items()
            },
            done=tuple(values["done"]),
            skipped=tuple(values["skipped"]),
            cut_off=None if values["cut_off"] is None else Phase(values["cut_off"]),
            spent=Cost(pairs, tokens),
            seconds=seconds,
            pairs_from_cache=values["pairs_from_cache"],
            refused=values["refused"],
            paid=Paid(*values["paid"]),
        )


def _pick(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[int, LabelLogProbs]:
    return {int(name.removeprefix(prefix)): array for name, array in arrays.items() if name.startswith(prefix)}

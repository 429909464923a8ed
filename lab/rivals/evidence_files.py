"""Evidence of fine-tuning, kept on disk, so that the thirteen coreset methods share one fine-tuning."""

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.rivals.fine_tuning.evidence import Evidence, LabelledRows, OnBatch, TuningRows
from lens_engine import __version__
from lens_engine.disk.replace_file import replace_file

if TYPE_CHECKING:
    from lab.rivals.fine_tuning.evidence import FineTuner

_ROWS = ("groups", "features", "probabilities")
_TRAINING = ("early_gradient_norms", "correct_by_epoch")
_VALIDATION = "validation_"


@dataclass(frozen=True)
class RememberingFineTuner:
    """A `FineTuner` that keeps its evidence in a folder.

    A file that cannot be read is replaced, at the cost of one fine-tuning.
    """

    reference: str  #: of the model
    folder: Path
    fine_tuner: "FineTuner"

    def __call__(self, rows: TuningRows, on_batch: OnBatch) -> Evidence:
        path = self.folder / f"{self._key(rows)}.npz"
        found = read_evidence(path)
        if found is None:
            found = self.fine_tuner(rows, on_batch)
            replace_file(path, evidence_bytes(found))
        return found

    def _key(self, rows: TuningRows) -> str:
        task = rows.task
        asked = [task.template.pattern, list(task.verbalizer.words.items()), task.separator]
        texts = [[[example.text, example.label] for example in examples] for examples in (rows.pool, rows.validation)]
        content = json.dumps([__version__, self.reference, asked, texts, rows.seed])
        return hashlib.sha256(content.encode()).hexdigest()


def evidence_bytes(evidence: Evidence) -> bytes:
    """An .npz archive without pickles."""
    arrays = {name: getattr(evidence, name) for name in (*_ROWS, *_TRAINING)}
    if evidence.validation is not None:
        arrays |= {_VALIDATION + name: getattr(evidence.validation, name) for name in _ROWS}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_evidence(path: Path) -> Evidence | None:
    """The evidence that `evidence_bytes` wrote; None if the file is missing or damaged."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return _assemble(arrays)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _assemble(arrays: dict[str, Any]) -> Evidence:
    has_validation = any(name.startswith(_VALIDATION) for name in arrays)
    validation = LabelledRows(*(arrays[_VALIDATION + name] for name in _ROWS)) if has_validation else None
    rows = {name: arrays[name] for name in (*_ROWS, *_TRAINING)}
    return Evidence(**rows, validation=validation)

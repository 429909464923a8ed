"""Finished cells on disk: one JSON file each, written atomically."""

import json
from pathlib import Path
from typing import Any

from lab.experiments.laboratory.cells import Cell
from lens_engine.disk.replace_file import replace_file
from lens_engine.errors import LensError


class CellDamaged(LensError):
    """A finished cell cannot be read."""

    code = "cell-damaged"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is damaged; remove it, and the cell is computed again")


class CellStore:
    """The finished cells in a folder. The folder is made if it is missing.

    cells/KEY.json       a finished cell and its outcome
    running/KEY          the checkpoint of a running cell
    evidence/KEY.npz     the evidence of a fine-tuning, shared by the coreset methods

    Any of these files may be deleted: a missing one is computed again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cells = _make(folder / "cells")
        self._running = _make(folder / "running")
        self.evidence = _make(folder / "evidence")

    def load(self, key: str) -> dict[str, Any] | None:
        """The outcome of the cell with this key; None if the cell is not finished.

        Raises:
            CellDamaged: the file is not what `save` wrote; the message names it.
        """
        path = self.path(key)
        if not path.exists():
            return None
        try:
            stored = json.loads(path.read_text("utf-8"))
            outcome: dict[str, Any] = stored["outcome"]
        except (ValueError, KeyError, TypeError) as error:
            raise CellDamaged(path) from error
        self.checkpoint(key).unlink(missing_ok=True)  # left by a process that was killed in `save`
        return outcome

    def save(self, key: str, cell: Cell, outcome: dict[str, Any]) -> None:
        """Store the outcome of a cell, and remove its checkpoint."""
        content = {"cell": cell.model_dump(mode="json"), "outcome": outcome}
        replace_file(self.path(key), (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
        self.checkpoint(key).unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """The file of the checkpoint of a running cell."""
        return self._running / key

    def path(self, key: str) -> Path:
        """The file of a finished cell."""
        return self._cells / f"{key}.json"


def _make(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder

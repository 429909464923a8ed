"""Finished cells on disk, one JSON file each, written whole or not at all."""

import json
from pathlib import Path
from typing import Any

from experiments.laboratory.cells import Cell
from lens_engine.disk.replace_file import replace_file
from lens_engine.errors import LensError


class CellDamaged(LensError):
    """A finished cell cannot be read."""

    code = "cell-damaged"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is damaged; remove it, and the cell is computed again")


class CellStore:
    """The finished cells of a folder, which is made if it is not there.

    cells/KEY.json       a finished cell and its outcome
    running/KEY          the checkpoint of a cell under way
    evidence/KEY.npz     what fine-tuning found, shared by the methods that choose by it

    Any of these may be deleted; what is missing is computed again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cells = _make(folder / "cells")
        self._running = _make(folder / "running")
        self.evidence = _make(folder / "evidence")

    def load(self, key: str) -> dict[str, Any] | None:
        """The outcome stored under `key`; None if there is none.

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
        return outcome

    def save(self, key: str, cell: Cell, outcome: dict[str, Any]) -> None:
        """Store the outcome of a cell; its checkpoint is no longer needed."""
        content = {"cell": cell.model_dump(mode="json"), "outcome": outcome}
        replace_file(self.path(key), (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
        self.checkpoint(key).unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """Where the checkpoint of a running cell is kept."""
        return self._running / key

    def path(self, key: str) -> Path:
        """Where the outcome of a cell is kept."""
        return self._cells / f"{key}.json"


def _make(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder

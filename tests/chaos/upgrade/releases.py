"""Two releases of Lens on one machine: the working tree, and an older revision unpacked beside it."""

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.processes import ROOT

SCORER = "upgrade_scorers:slow"
"""A scorer in a module of its own, because an old release has no such module."""
_CLI_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Release:
    """Sources, and the variables of processes that run them."""

    name: str
    sources: Path
    modules: Path  #: folder of the scorer
    settings: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        """Without the working directory on the path of imports: it has the sources of the new release."""
        path = f"{self.sources}:{self.modules}"
        return {**self.settings, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}

    def call(self, *arguments: str) -> str:
        """Run Python to its end.

        Raises:
            RuntimeError: it failed; the message has what it printed.
        """
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=_CLI_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(arguments)} failed\n{done.stdout}\n{done.stderr}")
        return done.stdout.strip()

    def check_sources(self) -> None:
        """
        Raises:
            RuntimeError: processes of this release would import the sources of another.
        """
        found = Path(self.call("-c", "import app; print(app.__file__)")).parents[1]
        if found != self.sources:
            raise RuntimeError(f"{self.name} imports {found} instead of {self.sources}")

    def migrate(self) -> None:
        self.call("-m", "lens_cli", "migrate")


def unpack(revision: str, folder: Path) -> Path:
    """The sources of a git revision, without touching the working tree.

    Raises:
        RuntimeError: this is no git repository, or it has no such revision.
    """
    done = subprocess.run(["git", "-C", str(ROOT), "archive", revision], capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder

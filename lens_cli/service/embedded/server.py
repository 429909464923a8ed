"""What Postgres and Redis from a wheel have in common."""

from pathlib import Path
from typing import ClassVar

from lens_cli.service.embedded.child import Child, ChildFailed


class EmbeddedServer:
    """One server over `data_dir`, with its socket in `socket_dir`.

    `durable` keeps what is written through a crash; without it the server is faster.
    """

    name: ClassVar[str]

    def __init__(self, data_dir: Path, socket_dir: Path, log_path: Path, *, durable: bool) -> None:
        self._data_dir = data_dir
        self._socket_dir = socket_dir
        self._log_path = log_path
        self._durable = durable
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        """
        Raises:
            ChildFailed: the server has not been started.
        """
        if self._child is None:
            raise ChildFailed(f"{self.name} has not been started")
        return self._child

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()

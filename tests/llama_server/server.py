"""A running llama-server."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import httpx

from lens_cli.service.embedded.child import Child, ChildSpec
from tests.e2e.waiting import until
from tests.ports import reserve_port

_START_SECONDS = 120.0
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}
"""Waiting threads sleep. By default they spin, and two threads on a busy machine then take ten times as long."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server computes. By default its scores are those of float32 to a thousandth of a nat."""

    context: int = 2048  #: of each slot (tokens)
    slots: int = 4  #: prompts computed at the same time; each keeps the tokens of its last prompt
    cache_type: str = "f32"  #: of keys and values: f32, f16 (the server's default), q8_0
    flash_attention: bool = False  #: the server's default is auto
    cache_mib: int = 256  #: memory for prompts that have lost their slot (MiB); the server's default is 8192
    threads: int = 1  #: tests share the processor with each other
    further: Sequence[str] = ()  #: arguments of the command

    def arguments(self) -> list[str]:
        return [
            *("--ctx-size", str(self.context * self.slots)),  # the server divides it among the slots
            *("--parallel", str(self.slots)),
            *("--cache-type-k", self.cache_type, "--cache-type-v", self.cache_type),
            *("--flash-attn", "on" if self.flash_attention else "off"),
            *("--cache-ram", str(self.cache_mib)),
            *("--threads", str(self.threads)),
            *self.further,
        ]


class LlamaServer:
    """`llama-server` on a free port of this machine. It answers inside the context, and is gone after it.

    Args:
        program: the file llama-server.
        weights: a GGUF file.
        log_path: what the server writes.
    """

    def __init__(self, program: Path, weights: Path, log_path: Path, options: ServerOptions | None = None) -> None:
        self.port = reserve_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.options = options or ServerOptions()
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        command = [str(program), "--model", str(weights), *address, *self.options.arguments()]
        self._spec = ChildSpec("llama-server", command, log_path, environment=_ENVIRONMENT)
        self._child: Child | None = None

    def __enter__(self) -> "LlamaServer":
        self._child = Child(self._spec)
        try:
            until(self._is_ready, "llama-server loads the model", seconds=_START_SECONDS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()

    def kill(self) -> None:
        """kill -9, as a machine that fails."""
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGKILL)
        self._child.wait(10)

    def log(self) -> str:
        return self._spec.log_path.read_text(errors="replace")

    def _is_ready(self) -> bool:
        assert self._child is not None
        self._child.check_alive()
        try:
            return httpx.get(f"{self.url}/health", timeout=5).status_code == 200  # 503 while it loads
        except httpx.TransportError:
            return False

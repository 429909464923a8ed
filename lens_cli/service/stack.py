"""The whole service on one machine: embedded Postgres and Redis, the schema, the API, what answers at once, workers."""

import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
from redis import Redis
from redis.exceptions import RedisError

from lens_cli.refusals import RefusedInput
from lens_cli.service.embedded import Child, ChildFailed, ChildSpec, describe_end, embedded_servers

FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
_REGISTERED = "rq:workers"
"""The set of the keys of RQ's workers. Each key has a hash with the process and its start in UTC (ISO 8601)."""

_LASTING_SECONDS = 60.0  #: a process that has run for this time has not ended at once


class LastingChild:
    """Started at once, and again after each end, with a pause that doubles while the process ends at once.

    A process that ends before it ever came up is not started again: its settings are wrong, and would be the next time.
    """

    def __init__(self, spec: ChildSpec, is_up: Callable[[int, str], bool], say: Callable[[str], None]) -> None:
        """`is_up`: whether a process has come up, by its number and its start in UTC (ISO 8601)."""
        self._spec = spec
        self._is_up = is_up
        self._say = say
        self.has_come_up = False
        self._ends_in_a_row = 0
        self._start_again_at: float | None = None  #: by time.monotonic; None while the process runs
        self._start()

    def _start(self) -> None:
        self._child = Child(self._spec)
        self._started_at, self._started = time.monotonic(), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        self._start_again_at = None

    @property
    def pid(self) -> int:
        """Process that runs, or ran last."""
        return self._child.pid

    def stop(self) -> None:
        self._child.stop()

    def look_after(self) -> None:
        """Notice the end of the process, or start it again when the pause is over."""
        self._child.shorten_log()
        if self._start_again_at is not None:
            if time.monotonic() >= self._start_again_at:
                self._start()
            return
        self.has_come_up = self.has_come_up or self._is_up(self.pid, self._started)
        status = self._child.exit_status
        if status is None:
            return
        if not self.has_come_up:
            self._child.check_alive()
        self._plan_restart(status)

    def _plan_restart(self, status: int) -> None:
        now = time.monotonic()
        is_lasting = now - self._started_at >= _LASTING_SECONDS
        self._ends_in_a_row = 1 if is_lasting else self._ends_in_a_row + 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (self._ends_in_a_row - 1), MAX_PAUSE_SECONDS)
        self._start_again_at = now + pause
        again = f", end number {self._ends_in_a_row} in a row" if self._ends_in_a_row > 1 else ""
        last_line = self._child.read_log_tail().splitlines()[-1]
        name = self._spec.name[0].upper() + self._spec.name[1:]
        self._say(f"{name} {describe_end(status)}{again}. It starts again in {pause:.0f} s. Its last line: {last_line}")


def is_registered(redis: Redis, pid: int, started: str) -> bool:
    """Whether this worker waits for jobs; an earlier process may have had its number. `redis` answers in text."""
    try:
        entries = [redis.hmget(key, "pid", "birth") for key in redis.smembers(_REGISTERED)]
    except RedisError:
        return False
    return any(found == str(pid) and str(birth or "") >= started for found, birth in entries)


_READY_SECONDS = 60.0
_DEATH_SIGNAL = signal.SIGKILL
"""What the other processes get if this process is killed. Postgres and Redis end at the same time, and a child that
stops politely may wait minutes for them."""


@dataclass(frozen=True, slots=True)
class StackSpec:
    """Where it keeps its data and listens. `environment` is laid over this process's own."""

    data_dir: Path
    host: str
    port: int
    durable: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Stack:
    """A running service. Call `look_after` about twice a second."""

    url: str
    stores: tuple[Child, ...]
    api: LastingChild
    others: tuple[LastingChild, ...]  #: workers, and the process that answers at once

    def look_after(self) -> None:
        """Start a process again that has ended, and keep the logs small."""
        for store in self.stores:
            store.check_alive()
            store.shorten_log()
        for child in (self.api, *self.others):
            child.look_after()


@contextmanager
def running_stack(spec: StackSpec, say: Callable[[str], None]) -> Iterator[Stack]:
    """Run everything until the block ends, and then stop it: worker and API first, the stores last.

    `say` is told what happens meanwhile, such as the end of a worker.
    """
    from app.settings import Settings
    from app.store.schema import upgrade_schema

    _check_port(spec)
    with ExitStack() as exits:
        servers = exits.enter_context(embedded_servers(spec.data_dir, durable=spec.durable))
        settings = Settings(database_url=servers.database_url, redis_url=servers.redis_url)
        try:
            upgrade_schema(settings)
        except ValueError as error:
            where = f"where: {spec.data_dir}; start the release that made it, or name another folder by --data-dir"
            raise RefusedInput(str(error), where) from error
        environment = {
            # Text, because a person reads these logs, unless the operator sets another form.
            "LENS_LOG_FORMAT": settings.log_format if "log_format" in settings.model_fields_set else "text",
            **spec.environment,
            "LENS_DATABASE_URL": servers.service_database_url,
            "LENS_REDIS_URL": servers.service_redis_url,
        }
        others = list[LastingChild]()

        def keep(
            name: str, words: list[str], own: Mapping[str, str], is_up: Callable[[int, str], bool], stop: float = 20.0
        ) -> LastingChild:
            child = ChildSpec(
                name=f"the {name}",
                command=[sys.executable, "-m", *words],
                log_path=spec.data_dir / f"{name.lower().replace(' ', '-')}.log",
                stop_signals=((signal.SIGTERM, stop),),
                death_signal=_DEATH_SIGNAL,
                environment=own,
            )
            lasting = LastingChild(child, is_up, say)
            exits.callback(lasting.stop)
            return lasting

        if settings.allowed_models and "answers_addresses" not in settings.model_fields_set:
            port = find_free_port()
            address = f"http://127.0.0.1:{port}"
            environment |= {"LENS_ANSWERS_ADDRESSES": address, "LENS_ANSWERS_TOKEN": secrets.token_hex(32)}
            words = ["lens_cli", "answers", "--port", str(port)]
            answering = exits.enter_context(httpx.Client(base_url=address, timeout=0.5, trust_env=False))
            is_up = partial(_answers, answering, "/healthz")
            others.append(keep("answering process", words, environment, is_up))
        words = ["lens_cli", "serve", "--host", spec.host, "--port", str(spec.port)]
        words += ["--drain-seconds", "0"]  # no balancer looks at it
        client = exits.enter_context(httpx.Client(base_url=spec.url, timeout=5.0, trust_env=False))
        api = keep("API", words, environment, partial(_answers, client, "/readyz"), 25.0)
        redis = exits.enter_context(Redis.from_url(servers.redis_url, decode_responses=True))
        for name, models in (("worker", "weights"), ("endpoint worker", "endpoints")):
            if models == "weights" or settings.endpoints:
                own = environment | {"LENS_WORKER_MODELS": models}
                others.append(keep(name, ["worker"], own, partial(is_registered, redis)))
        stack = Stack(spec.url, servers.children, api, tuple(others))
        _wait_until_ready(stack)
        yield stack


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _check_port(spec: StackSpec) -> None:
    try:
        family, *_, address = socket.getaddrinfo(spec.host, spec.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        message = f"cannot listen on {spec.host}, port {spec.port}: {error.strerror}; try another --port"
        raise RefusedInput(message) from error


def _wait_until_ready(stack: Stack) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not stack.api.has_come_up:
        if time.monotonic() > deadline:
            raise ChildFailed(f"the API at {stack.url} did not become ready in {_READY_SECONDS:.0f} s")
        time.sleep(0.1)
        stack.look_after()


def _answers(client: httpx.Client, path: str, *_: object) -> bool:
    with suppress(httpx.TransportError):
        return client.get(path).is_success
    return False

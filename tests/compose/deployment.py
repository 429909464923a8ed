"""The service on a real Docker engine, as an operator runs it: in a folder with the Compose files and a `.env`."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from app.store.tables import TERMINAL
from tests.compose.composition import ROOT
from tests.e2e.scorers import HOLD_VARIABLE
from tests.e2e.waiting import until

PROJECT = "lens-ring"
"""Of the containers, networks, volumes and images: nothing of another deployment on the machine is touched."""
OVERRIDE = "COMPOSE_OVERRIDE"
"""Variable with further Compose files, separated by colons, that are laid over those of the project."""
UP_SECONDS = 600
OWN_FILE = """
services:
  api:
    environment: &doubles
      LENS_ALLOW_TESTING_MODELS: "true"
      PYTHONPATH: /doubles
      {hold}: /doubles/hold
      OMP_NUM_THREADS: "1"
  worker: {{ environment: *doubles, volumes: ["./doubles:/doubles"], read_only: true, tmpfs: [/tmp] }}
  answers: {{ environment: *doubles, read_only: true, tmpfs: [/tmp] }}
  endpoint-worker: {{ environment: *doubles, read_only: true, tmpfs: [/tmp] }}
"""
"""Adds the double `held`, whose runs wait where a test wants a fault, and take no time of the processor. The workers
have a file system that is read-only but for temporary files, as an operator may set it, and one thread, because threads
wait for each other on a busy machine."""
FILES = ("docker-compose.yml", "docker-compose.cpu.yml")
SETTINGS = """
COMPOSE_PROJECT_NAME={project}
COMPOSE_FILE={files}
POSTGRES_PASSWORD=a1
OWNER_PASSWORD=b2
REDIS_PASSWORD=c3
LENS_ANSWERS_TOKEN=a-token-of-the-tests
LENS_ALLOWED_MODELS='{{"smollm2-135m-instruct": "smollm2-135m-instruct", "held": "testing:scorers:held"}}'
LENS_LEASE_SECONDS=20
LENS_LEASE_RENEW_SECONDS=5
LENS_SWEEP_INTERVAL_SECONDS=5
"""
ENDPOINTS = """
COMPOSE_PROFILES=endpoints
LENS_ENDPOINTS='{"ours": {"kind": "vllm", "url": "http://10.0.0.5:8000", "model": "ours", "key_variable": "OUR_KEY"}}'
"""
"""Lines of `.env` that add the endpoint worker, which asks no server before it has a job."""


def find_engine_fault() -> str | None:
    """Why no composition can be started here; None if it can."""
    if shutil.which("docker") is None:
        return "the command `docker` is missing"
    for words in (["docker", "version"], ["docker", "compose", "version"]):
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            return f"`{' '.join(words)}` fails: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
    return None


@dataclass
class Deployment:
    """A copy of what images are built from, with its own `.env`, project name and port."""

    folder: Path
    port: int
    key: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def write(cls, folder: Path, port: int) -> "Deployment":
        sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        names = [line[1:] for line in sent if line.startswith("!")]
        for name in (*names, ".dockerignore", "Dockerfile", *FILES):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        for name in FILES:
            text = (folder / name).read_text("utf-8").replace("image: lens-", f"image: {PROJECT}-")
            (folder / name).write_text(text.replace("127.0.0.1:8000:", f"127.0.0.1:{port}:"), "utf-8")
        (folder / "own.yml").write_text(OWN_FILE.format(hold=HOLD_VARIABLE), "utf-8")
        (folder / "doubles").mkdir()
        (folder / "doubles").chmod(0o777)  # the user of the containers writes there
        shutil.copy(ROOT / "tests" / "e2e" / "scorers.py", folder / "doubles")
        files = ":".join([*FILES, "own.yml", *filter(None, os.environ.get(OVERRIDE, "").split(":"))])
        (folder / ".env").write_text(SETTINGS.format(project=PROJECT, files=files), "utf-8")
        return cls(folder, port)

    # What an operator does.

    def shell(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run lines of a shell in the folder. Of the settings of this process, only the index of torch counts."""
        inherited = {name: value for name, value in os.environ.items() if not re.match("LENS_|COMPOSE_", name)}
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=inherited | variables,
            check=False,
            capture_output=True,
            text=True,
        )

    def do(self, script: str, **variables: str) -> str:
        """As `shell`; what the lines print. AssertionError if they fail."""
        done = self.shell(script, **variables)
        assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{self.logs()}"
        return done.stdout

    def up(self, *options: str) -> None:
        self.do(f"docker compose up --detach --wait --wait-timeout {UP_SECONDS} {' '.join(options)}")

    @contextmanager
    def settings(self, lines: str) -> Iterator[None]:
        """Further lines of `.env`, for every command meanwhile."""
        path = self.folder / ".env"
        before = path.read_text("utf-8")
        path.write_text(before + lines, "utf-8")
        try:
            yield
        finally:
            path.write_text(before, "utf-8")

    def running(self) -> set[str]:
        """The services whose containers run."""
        return set(self.do("docker compose ps --services --status running").split())

    def containers(self) -> dict[str, str]:
        """The id of the container of each service, `migrate` left out."""
        lines = self.do("docker compose ps --all --format '{{.Service}} {{.ID}}'").splitlines()
        return {service: id_ for service, id_ in map(str.split, lines) if service != "migrate"}

    def layers(self, image: str) -> list[str]:
        template = "{{range .RootFS.Layers}}{{println .}}{{end}}"
        return self.do(f"docker image inspect --format '{template}' {PROJECT}-{image}").split()

    def query(self, statement: str) -> str:
        return self.do(f'docker compose exec -T postgres psql --username=postgres -tAc "{statement}" lens').strip()

    def logs(self, *services: str) -> str:
        return self.shell(f"docker compose logs --no-color --tail 20 {' '.join(services)}").stdout

    # What a client does.

    def ask(self, method: str, path: str, **content: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.request(method, f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=60, **content)

    def submit(self, body: dict[str, Any]) -> str:
        answer = self.ask("POST", "/selections", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def get(self, selection_id: str) -> dict[str, Any]:
        """The selection; nothing while the service is away."""
        try:
            answer = self.ask("GET", f"/selections/{selection_id}")
        except httpx.TransportError:
            return {}
        selection: dict[str, Any] = answer.json()
        return selection if answer.status_code == 200 else {}

    def wait_for(self, selection_id: str, reached: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            selection = self.get(selection_id)
            return selection if selection and reached(selection) else None

        try:
            return until(look, f"{selection_id} {what}", seconds=1500)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.get(selection_id)}\n{self.logs()}") from error

    def hold_from(self, call: int) -> None:
        """Have every run of `held` wait before this call of its scorer, until `let_go`."""
        (self.folder / "doubles" / "hold").write_text(str(call))

    def let_go(self) -> None:
        (self.folder / "doubles" / "hold").unlink(missing_ok=True)

    def wait_until_held(self, selection_id: str, attempt: int) -> None:
        """Until an attempt runs that has a checkpoint to go on from."""
        query = (
            "SELECT status, jobs.attempt, checkpoints.phase FROM jobs JOIN checkpoints "
            f"ON job_id = jobs.id WHERE jobs.id = '{selection_id}'"
        )
        until(lambda: self.query(query) == f"running|{attempt}|search", f"attempt {attempt} is held", seconds=600)

    def wait_until_done(self, selection_id: str) -> dict[str, Any]:
        return self.wait_for(selection_id, lambda it: it["status"] in TERMINAL, "ends")

    def crashes(self, selection_id: str) -> int:
        """Crashes that were counted for a selection."""
        return int(self.query(f"SELECT crashes FROM jobs WHERE id = '{selection_id}'"))

    def remove(self) -> None:
        """Remove containers, networks, volumes and images; the cache of the builder stays."""
        self.do("docker compose --profile '*' down --volumes --remove-orphans")
        self.do(f"docker image ls --quiet '{PROJECT}-*' | sort -u | xargs --no-run-if-empty docker image rm --force")

"""One run: fill the service, let Schemathesis ask, look behind the service."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.api_keys import headers_of, key_of
from tests.chaos.service import Service, running_service
from tests.e2e.processes import ROOT
from tests.e2e.waiting import until
from tests.fuzz import FOLDER_VARIABLE, KEY, SECRET
from tests.integration.samples import SMALL_OPTIONS, make_submission
from tests.open_files import list_open_files

Connection = psycopg.Connection[tuple[Any, ...]]
MAX_MEMORY_BYTES = 450 * 2**20
_CHECKS = (
    "status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,"
    "unsupported_method,ignored_auth,wall,problem,journal"
)
_RUN = "UPDATE jobs SET status = 'running', attempt = 1, lease_until = now() + '1 day' WHERE id = %s"
_BENS = """
SELECT s::text, (SELECT count(*) FROM events WHERE job_id = s.id) FROM jobs s WHERE owner_id = 'ben'
ORDER BY id
"""
_HALVES = {
    "datasets of no job": "SELECT id FROM datasets WHERE NOT is_kept AND NOT EXISTS "
    "(SELECT FROM jobs WHERE datasets.id IN (dataset_id, test_dataset_id))",
    "datasets with rows missing": "SELECT id FROM datasets WHERE num_rows <> "
    "(SELECT count(*) FROM examples WHERE dataset_id = datasets.id)",
    "jobs of nobody": "SELECT id FROM jobs WHERE owner_id NOT IN ('ada', 'ben')",
    "datasets of two owners": "SELECT s.id FROM jobs s JOIN datasets d ON d.id IN (dataset_id, test_dataset_id) "
    "WHERE s.owner_id <> d.owner_id",
}


@dataclass(frozen=True, slots=True)
class Report:
    """The output of Schemathesis, and what was found behind the service."""

    output: str
    answers: Counter[str]  #: by operation and status
    faults: list[str]


def run_fuzz(folder: Path, num_examples: int, seed: int) -> Report:
    """Send `num_examples` requests for each operation and mode, and one for each case at the limits of a parameter."""
    with running_service(folder, num_apis=1, num_workers=1) as service:
        (folder / "ids.json").write_text(json.dumps(_fill(service)))
        (folder / "seed").write_text(str(seed))
        (folder / "journal").touch()
        with service.stores.connect() as connection:
            before = connection.execute(_BENS).fetchall()
            seeded = _find_ids(connection)
            done = _run(service, folder, num_examples, seed)
            journal = [line.split("\t") for line in (folder / "journal").read_text().splitlines()]
            faults = ["Schemathesis found faults"] if done.returncode else []
            if connection.execute(_BENS).fetchall() != before:
                faults.append("what ben has was changed")
            faults += [*_compare(connection, seeded, journal), *_look_at_process(service, folder)]
    answers = Counter(f"{operation} {status}" for operation, status, _ in journal)
    return Report(done.stdout + done.stderr, answers, faults)


def _fill(service: Service) -> dict[str, dict[str, list[str]]]:
    """Give both owners selections in each state, and names. Returns ids by owner and parameter."""
    clients = {
        owner: httpx.Client(base_url=service.addresses[0], headers=headers_of(owner), timeout=60)
        for owner in ("ada", "ben")
    }
    made = {owner: [_submit(client, owner, number) for number in range(3)] for owner, client in clients.items()}
    for owner, client in clients.items():
        for one in made[owner]:
            _wait_for_success(client, f"/selections/{one['id']}")
    asked = {owner: _name(client, owner, made[owner][0]["id"]) for owner, client in clients.items()}
    service.workers[0].stop()
    for owner, client in clients.items():
        running, cancelled, queued = (_submit(client, owner, number) for number in range(3, 6))
        client.post(f"/selections/{cancelled['id']}/cancel").raise_for_status()
        with service.stores.connect() as connection:
            connection.execute(_RUN, [running["id"]])
        made[owner] += [running, cancelled, queued]
        client.close()
    for owner, mine in made.items():
        asked[owner] |= {"selection_id": [one["id"] for one in mine], "dataset_id": [one["dataset_id"] for one in mine]}
    return asked


def _name(client: httpx.Client, owner: str, selection_id: str) -> dict[str, list[str]]:
    """Let a name say what the selection found."""
    named = client.put("/prompts/triage", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    named.raise_for_status()
    # Both owners have the name, so that it is not foreign.
    return {"name": ["triage"] if owner == "ada" else []}


def _wait_for_success(client: httpx.Client, path: str) -> None:
    until(lambda: client.get(path).json()["status"] == "succeeded", f"{path} has succeeded", 120)


def _submit(client: httpx.Client, owner: str, number: int) -> dict[str, Any]:
    """Its prompt finds examples. Ben's have a known text and known keys, which ada's requests use too."""
    options = {"classifier": {"kind": "label_probabilities"}, "search": {"forms": ["nearest"]}}
    body = make_submission(options={**SMALL_OPTIONS, **options})
    headers = {}
    if owner == "ben":
        body["examples"] = [{**row, "text": f"{row['text']} {SECRET}"} for row in body["examples"]]
        headers["Idempotency-Key"] = f"{KEY}{number}"
    made: dict[str, Any] = client.post("/selections", json=body, headers=headers).raise_for_status().json()
    return made


def _run(service: Service, folder: Path, num_examples: int, seed: int) -> subprocess.CompletedProcess[str]:
    options = {
        "--header": f"Authorization: Bearer {key_of('ada')}",
        "--phases": "coverage,fuzzing",
        "--max-examples": str(num_examples),
        "--seed": str(seed),
        "--checks": _CHECKS,
        "--generation-database": "none",
        "--suppress-health-check": "all",
        "--warnings": "off",
        "--output-truncate": "true",
    }
    arguments = [part for option in options.items() for part in option]
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{service.addresses[0]}/openapi.json", *arguments]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
        FOLDER_VARIABLE: str(folder),
    }
    return subprocess.run(
        [*command, "--continue-on-failure", "--no-color"], env=environment, cwd=folder, capture_output=True, text=True
    )


def _find_ids(connection: Connection) -> set[str]:
    return {id_ for (id_,) in connection.execute("SELECT id FROM jobs")}


def _compare(
    connection: psycopg.Connection[tuple[Any, ...]], seeded: set[str], journal: list[list[str]]
) -> Iterator[str]:
    """Nothing is half-stored, nothing acknowledged is lost, and nothing is stored without an acknowledgement."""
    for what, query in _HALVES.items():
        if found := connection.execute(query).fetchall():
            yield f"{what}: {found[:3]}"
    acknowledged = seeded | {id_ for operation, _, id_ in journal if operation.startswith("POST")} - {""}
    acknowledged -= {id_ for operation, _, id_ in journal if operation.startswith("DELETE")}
    stored = _find_ids(connection)
    if stored != acknowledged:
        yield f"lost: {sorted(acknowledged - stored)[:3]}; not acknowledged: {sorted(stored - acknowledged)[:3]}"


def _look_at_process(service: Service, folder: Path) -> Iterator[str]:
    """The API lives, has not taken too much memory, and keeps no upload."""
    process = service.apis[0].running
    if process is None:
        yield "the API has ended"
        return
    status = Path(f"/proc/{process.pid}/status").read_text().split()
    if (peak := int(status[status.index("VmHWM:") + 1]) * 1024) > MAX_MEMORY_BYTES:
        yield f"the API took {peak / 2**20:.0f} MiB of memory"
    spool = folder / "spool"
    spooled = [*map(str, spool.iterdir()), *(one for one in list_open_files(process.pid) if one.startswith(str(spool)))]
    if spooled:
        yield f"uploads left: {spooled}"

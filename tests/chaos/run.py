"""One run: learn what is found undisturbed, rage, calm down, judge."""

import time
from collections import Counter
from collections.abc import Callable, Sequence

import httpx
import psycopg

from tests.api_keys import headers_of
from tests.chaos.client import Client
from tests.chaos.config import OWNERS, Plan
from tests.chaos.history import History
from tests.chaos.nemesis import Nemesis, plan_faults
from tests.chaos.report import Report
from tests.chaos.service import Service, running_service
from tests.chaos.submissions import BUNDLED, Variant
from tests.chaos.verdict import Undisturbed, check_locks, check_traces, judge
from tests.chaos.watch import Watch
from tests.e2e.waiting import until

_MODEL_VARIANTS = (Variant(0, BUNDLED),)
_LEARNING_SECONDS = 600.0
_UNFINISHED = "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running', 'cancelling')"
_COUNTS = {
    "Jobs by status": "SELECT status, count(*) FROM jobs GROUP BY status",
    "Jobs by number of attempts": "SELECT attempt::text, count(*) FROM jobs GROUP BY attempt",
}


def run_chaos(plan: Plan, say: Callable[[str], None]) -> Report:
    """Run the service under faults and report what was found."""
    variants = [Variant(number) for number in range(plan.num_variants)]
    with running_service(plan.folder, plan.num_apis, plan.num_workers) as service:
        say("learning what is found undisturbed")
        undisturbed = _learn(service, [*variants, *(_MODEL_VARIANTS if plan.with_model else ())])
        history = History()
        watch = Watch(service.stores, history)
        watch.start()
        nemesis = Nemesis(service, lambda: history.now, say)
        clients = _start_clients(plan, service, history, variants)
        nemesis.rage(plan_faults(plan.seed, plan.seconds), plan.seconds)
        say("calm")
        nemesis.calm()
        _wait_for_rest(plan, service, nemesis, clients)
        watch.stop()
        with service.stores.connect() as connection:
            compared = judge(connection, history, undisturbed)
            check_locks(connection, history)
            tables = _count(connection, service, history, compared)
    check_traces(plan.folder, service.find_leftovers(), history)
    return Report(plan.seed, tables, nemesis.log, history.violations)


def _learn(service: Service, variants: Sequence[Variant]) -> Undisturbed:
    """The digest of each variant when nothing disturbs this service."""
    headers = headers_of(OWNERS[0])
    with httpx.Client(base_url=service.addresses[0], headers=headers, timeout=30) as client:
        paths = {one: _post(client, one) for one in variants}
        return {one: _wait_for_digest(client, path) for one, path in paths.items()}


def _post(client: httpx.Client, variant: Variant) -> str:
    response = variant.post(client, f"undisturbed-{variant}")
    assert response.status_code == 202, response.text
    return response.headers["location"]


def _wait_for_digest(client: httpx.Client, path: str) -> str | None:
    def find() -> str | None:
        found = client.get(path).json()
        assert found["status"] in {"queued", "running", "succeeded"}, found
        digest: str | None = found["digest"]
        return digest

    return until(find, f"{path} is done", _LEARNING_SECONDS)


def _start_clients(plan: Plan, service: Service, history: History, variants: Sequence[Variant]) -> list[Client]:
    clients = []
    for number in range(plan.num_clients):
        own = _MODEL_VARIANTS if plan.with_model and number == 0 else variants
        owner = OWNERS[number % len(OWNERS)]
        clients.append(Client(f"client-{plan.seed}-{number}", owner, service.addresses, history, own))
        clients[-1].start()
    return clients


def _wait_for_rest(plan: Plan, service: Service, nemesis: Nemesis, clients: Sequence[Client]) -> None:
    """Until all jobs have ended, or for as long as the plan allows."""
    deadline = time.monotonic() + plan.calm_seconds
    for client in clients:
        client.finish()
    while time.monotonic() < deadline and any(client.is_alive() for client in clients):
        nemesis.tick()
    for client in clients:
        client.abandon()
    with service.stores.connect() as connection:
        while time.monotonic() < deadline and connection.execute(_UNFINISHED).fetchone() != (0,):
            nemesis.tick()
    for client in clients:
        client.join(30)


def _count(
    connection: psycopg.Connection[tuple[object, ...]], service: Service, history: History, compared: int
) -> dict[str, dict[str, int]]:
    accepted = history.accepted
    stored = {title: {str(k): int(str(n)) for k, n in connection.execute(query)} for title, query in _COUNTS.items()}
    return {
        "Requests": dict(history.answers),
        "Accepted jobs": {
            "kept": sum(not one.is_deleted for one in accepted),
            "deleted by their owner": sum(one.is_deleted for one in accepted),
        },
        **stored,
        "Digests compared": {"with the undisturbed run": compared},
        "Processes that ended by themselves": dict(Counter(one for it in service.members for one in it.surprises)),
    }

"""One run: learn the undisturbed digests, rage, calm down, judge."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.chaos.clients import Client, ModelBudget, Workload
from tests.chaos.faults import find_missing
from tests.chaos.history import History
from tests.chaos.measures import Spread, count_attempts, count_statuses, measure_cancels, measure_recovery
from tests.chaos.nemesis import Nemesis
from tests.chaos.report import Report
from tests.chaos.schedule import PlannedFault, plan_faults
from tests.chaos.service import Service, running_service
from tests.chaos.settings import OWNERS, key_of
from tests.chaos.submissions import MODEL_VARIANTS, VARIANTS, Variant
from tests.chaos.verdict import Digests, check_locks, check_traces, judge
from tests.chaos.watch import Watch
from tests.e2e.waiting import until

_UNFINISHED = "SELECT count(*) FROM selections WHERE status IN ('queued', 'running', 'cancelling')"
_LEARNING_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. Times in seconds."""

    seed: int
    seconds: float
    folder: Path
    model_selections: int = 0
    num_apis: int = 2
    num_workers: int = 3
    num_clients: int = 9
    variants: tuple[Variant, ...] = VARIANTS
    calm_seconds: float = 180.0
    faults: Sequence[PlannedFault] | None = None  #: None for those that the seed plans


def run_chaos(plan: Plan, say: Callable[[str], None]) -> Report:
    """Run the service under faults and report what was found."""
    with running_service(plan.folder, plan.num_apis, plan.num_workers) as service:
        say("learning the undisturbed digests")
        digests = _learn(plan, service)
        history = History()
        watch = Watch(service.stores, history)
        watch.start()
        nemesis = Nemesis(service, lambda: history.now, say)
        clients = _start_clients(plan, service, history)
        nemesis.rage(plan.faults or plan_faults(plan.seed, plan.seconds), plan.seconds)
        say("calm")
        nemesis.calm()
        _wait_for_rest(plan, service, nemesis, clients)
        watch.stop()
        report = _report(plan, service, nemesis, history, digests)
        report.num_looks = watch.num_looks
    check_traces(plan.folder, service.find_leftovers(), history)
    report.violations = list(history.violations)
    return report


def _learn(plan: Plan, service: Service) -> Digests:
    """What each variant gives when nothing disturbs this service."""
    headers = {"Authorization": f"Bearer {key_of(OWNERS[0])}"}
    variants = [*plan.variants, *(MODEL_VARIANTS if plan.model_selections else ())]
    with httpx.Client(base_url=service.addresses[0], headers=headers, timeout=30) as client:
        answers = {one: one.post(client, f"undisturbed-{one.model}-{one.number}").json() for one in variants}
        return {one: _wait_for_digest(client, answer["id"]) for one, answer in answers.items()}


def _wait_for_digest(client: httpx.Client, selection_id: str) -> str:
    def find() -> str | None:
        found = client.get(f"/selections/{selection_id}").json()
        assert found["status"] in {"queued", "running", "succeeded"}, found
        digest: str | None = found["digest"]
        return digest

    return until(find, f"{selection_id} is done", _LEARNING_SECONDS)


def _start_clients(plan: Plan, service: Service, history: History) -> list[Client]:
    budget = ModelBudget(plan.model_selections, plan.seconds / (plan.model_selections + 1))
    workload = Workload(plan.seed, plan.variants)
    clients = [
        Client(number, service.addresses, history, workload, budget if number == 0 else None)
        for number in range(plan.num_clients)
    ]
    for client in clients:
        client.start()
    return clients


def _wait_for_rest(plan: Plan, service: Service, nemesis: Nemesis, clients: list[Client]) -> None:
    """Until all selections have ended, or for as long as the plan allows."""
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


def _report(plan: Plan, service: Service, nemesis: Nemesis, history: History, digests: Digests) -> Report:
    victims = [(one.victim, one.clock) for one in nemesis.log if one.victim is not None and one.clock is not None]
    with service.stores.connect() as connection:
        compared = judge(connection, history, digests)
        check_locks(connection, history)
        with history.reading() as accepted:
            return Report(
                seed=plan.seed,
                seconds=plan.seconds,
                faults=nemesis.log,
                accepted=len(accepted),
                statuses=count_statuses(connection),
                deleted=sum(one.is_deleted for one in accepted),
                attempts=count_attempts(connection),
                digests=compared,
                recovery=measure_recovery(connection, victims),
                cancels=measure_cancels(connection),
                drains=Spread.of(nemesis.drains),
                refusals=dict(history.refusals),
                silences=dict(history.silences),
                outcomes={f"{action} {outcome}": number for (action, outcome), number in history.outcomes.items()},
                slowest=dict(history.slowest),
                surprises=[surprise for member in service.members for surprise in member.surprises],
                missing=find_missing(),
            )

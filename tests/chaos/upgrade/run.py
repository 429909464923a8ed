"""One upgrade: load on the old release, migrate, restart one process after the other, rest, judge."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.selections.states import Status
from lens_cli.service.stack import find_free_port
from tests.chaos.clients import Client, Workload
from tests.chaos.history import Accepted
from tests.chaos.measures import count_attempts, count_statuses
from tests.chaos.settings import MARK, OWNERS, values_of
from tests.chaos.stores import Stores, running_stores
from tests.chaos.submissions import TABLE_MODEL, VARIANTS, Variant
from tests.chaos.upgrade import scorers
from tests.chaos.upgrade.cluster import Instance
from tests.chaos.upgrade.reading import open_client, read_everything, replay
from tests.chaos.upgrade.releases import SCORER, Release, unpack
from tests.chaos.upgrade.report import UpgradeReport
from tests.chaos.upgrade.traffic import UpgradeHistory
from tests.chaos.verdict import check_endings, check_keys, check_locks, check_moves, check_results
from tests.e2e.processes import ROOT
from tests.e2e.stack import environment_of
from tests.e2e.waiting import until

_LEARNING_SECONDS = 600.0
_UNFINISHED = "SELECT count(*) FROM selections WHERE status IN ('queued', 'running', 'cancelling')"
_WORN = "SELECT id, status, crashes FROM selections WHERE crashes > 0 OR status = 'failed'"
_WHOLE = "SELECT id, digest FROM selections WHERE status = 'succeeded' AND NOT partial"
Digests = dict[Variant, set[str]]
"""What each variant gives undisturbed, by the old release and by the new one."""


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """What to run. Times in seconds."""

    revision: str
    folder: Path
    seconds: float = 15.0  #: of load before the upgrade, and after it
    pause_seconds: float = 6.0  #: between two restarts
    num_apis: int = 2
    num_workers: int = 2
    num_clients: int = 6
    variants: tuple[Variant, ...] = (*VARIANTS[:3], VARIANTS[-1])
    rest_seconds: float = 300.0


@dataclass
class Upgrade:
    """Everything that takes part in an upgrade under way."""

    plan: UpgradePlan
    old: Release
    new: Release
    stores: Stores
    apis: list[Instance]
    workers: list[Instance]
    history: UpgradeHistory
    report: UpgradeReport
    say: Callable[[str], None]

    @property
    def in_turn(self) -> Iterator[Instance]:
        """An API process, a worker, an API process, and so on: each release serves what the other has computed."""
        for pair in zip(self.apis, self.workers, strict=True):
            yield from pair


def run_upgrade(plan: UpgradePlan, say: Callable[[str], None]) -> UpgradeReport:
    """Upgrade a service from the revision to the working tree while clients use it.

    Raises:
        RuntimeError: there is no such revision, or a command failed.
        AssertionError: a process did not start, or ended by itself.
    """
    with _running(plan, say) as upgrade:
        digests = _learn(upgrade, "before")
        clients = _start_clients(upgrade)
        time.sleep(plan.seconds)
        say("migrating")
        upgrade.new.migrate()
        old = _known(upgrade)
        _note_readiness(upgrade)
        time.sleep(plan.pause_seconds)
        _roll(upgrade)
        time.sleep(plan.seconds)
        say("rest")
        _wait_for_rest(upgrade, clients)
        try:
            for variant, found in _learn(upgrade, "after").items():
                digests[variant] |= found
        except AssertionError as error:
            upgrade.history.violate("I1", f"the new release computes no selection: {error}")
        _judge(upgrade, old, digests)
        upgrade.report.violations = list(upgrade.history.violations)
        return upgrade.report


@contextmanager
def _running(plan: UpgradePlan, say: Callable[[str], None]) -> Iterator[Upgrade]:
    modules = plan.folder / "modules"
    modules.mkdir()
    shutil.copyfile(scorers.__file__, modules / f"{SCORER.partition(':')[0]}.py")
    sources = unpack(plan.revision, plan.folder / "old")
    with ExitStack() as stack:
        stores = stack.enter_context(running_stores(plan.folder))
        values = {
            **values_of(plan.folder),
            "allowed_models": {TABLE_MODEL: f"testing:{SCORER}"},
            "database_url": stores.postgres.url,
            "redis_url": stores.redis.url,
        }
        settings = {**environment_of(values), MARK: plan.folder.name}
        old = Release(plan.revision, sources, modules, settings)
        new = Release("the working tree", ROOT, modules, settings)

        def make(name: str, port: int | None = None) -> Instance:
            instance = Instance(name, plan.folder / f"{name}.log", stores, port)
            stack.callback(instance.stop)
            return instance

        apis = [make(f"api-{number}", find_free_port()) for number in range(plan.num_apis)]
        workers = [make(f"worker-{number}") for number in range(plan.num_workers)]
        upgrade = Upgrade(plan, old, new, stores, apis, workers, UpgradeHistory(), UpgradeReport(plan.revision), say)
        _start(upgrade)
        yield upgrade


def _start(upgrade: Upgrade) -> None:
    upgrade.say(f"starting {upgrade.old.name}")
    for release in (upgrade.old, upgrade.new):
        release.check_sources()
    upgrade.old.migrate()
    for instance in upgrade.in_turn:
        instance.start(upgrade.old)
    for instance in upgrade.in_turn:
        instance.wait_until_ready()


def _learn(upgrade: Upgrade, when: str) -> Digests:
    """What each variant gives while all processes are of one release."""
    upgrade.say(f"learning the digests {when} the upgrade")
    with open_client(OWNERS[0], upgrade.apis[0].address) as client:
        answers = {one: one.post(client, f"{when}-{one.number}") for one in upgrade.plan.variants}
        for answer in answers.values():
            assert answer.status_code == 202, answer.text
        ids = {one: answer.json()["id"] for one, answer in answers.items()}

        def find(id_: str) -> str | None:
            selection = client.get(f"/selections/{id_}").json()
            assert selection["status"] in {"queued", "running", "succeeded"}, selection
            digest: str | None = selection["digest"]
            return digest

        return {one: {until(lambda: find(id_), f"{id_} is done", _LEARNING_SECONDS)} for one, id_ in ids.items()}  # noqa: B023


def _start_clients(upgrade: Upgrade) -> list[Client]:
    addresses = [api.address for api in upgrade.apis]
    workload = Workload(0, upgrade.plan.variants)
    clients = [Client(number, addresses, upgrade.history, workload) for number in range(upgrade.plan.num_clients)]
    for client in clients:
        client.start()
    return clients


def _known(upgrade: Upgrade) -> list[Accepted]:
    with upgrade.history.reading() as known:
        return known


def _note_readiness(upgrade: Upgrade) -> None:
    upgrade.report.sections["Readiness of the old release on the new schema"] = {
        api.name: api.readiness() for api in upgrade.apis
    }


def _roll(upgrade: Upgrade) -> None:
    rows = upgrade.report.sections["Restarts: end of the old process; seconds until the new one was ready"] = {}
    for instance in upgrade.in_turn:
        upgrade.say(f"restarting {instance.name}")
        with upgrade.history.restart_of(instance.port or 0):
            seconds = instance.restart(upgrade.new)
        rows[instance.name] = f"{instance.ended[-1]}; {seconds:.1f}"
        time.sleep(upgrade.plan.pause_seconds)


def _wait_for_rest(upgrade: Upgrade, clients: list[Client]) -> None:
    deadline = time.monotonic() + upgrade.plan.rest_seconds
    for client in clients:
        client.finish()
    for client in clients:
        client.join(max(0.0, deadline - time.monotonic()))
        client.abandon()
    with upgrade.stores.connect() as connection:
        while time.monotonic() < deadline and connection.execute(_UNFINISHED).fetchone() != (0,):
            time.sleep(0.5)


def _judge(upgrade: Upgrade, old: list[Accepted], digests: Digests) -> None:
    history, sections = upgrade.history, upgrade.report.sections
    for api in upgrade.apis:
        num_reads = read_everything(api.address, old, history)
    num_replays = replay(upgrade.apis[0].address, old, history)
    with upgrade.stores.connect() as connection:
        for check in (check_endings, check_keys, check_results, check_moves, check_locks):
            check(connection, history)
        _check_wear(connection, history)
        compared = _compare_digests(connection, history, digests)
        sections["Selections"] = {"accepted": len(history.accepted), **count_statuses(connection)}
        sections["Selections by number of attempts"] = dict(count_attempts(connection))
    sections["Of before the upgrade"] = {"accepted": len(old), "reads": num_reads, "replays": num_replays}
    sections["Digests of whole results"] = {
        "compared and equal": compared,
        "variants of equal digest in both releases": sum(len(found) == 1 for found in digests.values()),
        "variants": len(digests),
    }
    sections["Requests"] = {f"{action} {outcome}": number for (action, outcome), number in history.outcomes.items()}
    sections["Refusals by status"] = dict(history.refusals)
    sections["Requests without an answer"] = dict(history.silences)
    sections["Slowest answers (seconds)"] = {name: f"{one:.1f}" for name, one in history.slowest.items()}


def _check_wear(connection: psycopg.Connection[tuple[object, ...]], history: UpgradeHistory) -> None:
    """A restart for an upgrade is charged to nobody."""
    for id_, status, crashes in connection.execute(_WORN):
        what = "failed" if status == Status.FAILED else f"was charged {crashes} crashes"
        history.violate("I6", f"a selection {what} by the upgrade", str(id_))


def _compare_digests(
    connection: psycopg.Connection[tuple[object, ...]], history: UpgradeHistory, digests: Digests
) -> int:
    """I5: a whole result is what one of the releases gives undisturbed. Number of equal ones."""
    equal = 0
    for id_, digest in connection.execute(_WHOLE):
        accepted = history.accepted.get(str(id_))
        if accepted is None:
            continue
        is_equal = digest in digests[accepted.variant]
        equal += is_equal
        if not is_equal:
            history.violate("I5", f"digest {digest} instead of {sorted(digests[accepted.variant])}", str(id_))
    return equal

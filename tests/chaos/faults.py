"""From a planned fault to one that is under way."""

from tests.chaos.inflicted import Inflicted
from tests.chaos.process_faults import NO_CLOCK, OF_PROCESSES, find_faketime
from tests.chaos.schedule import PlannedFault
from tests.chaos.service import Service
from tests.chaos.store_faults import OF_STORES, WEATHERS, change_weather


def inflict(service: Service, fault: PlannedFault) -> Inflicted:
    """Begin the fault.

    Raises:
        FaultSkipped: there is nothing that can have the fault.
        psycopg.Error, RedisError: the store to disturb does not answer.
    """
    if fault.kind in OF_STORES:
        return OF_STORES[fault.kind](service)
    action, _, place = fault.kind.partition("-")
    if action in WEATHERS:
        member = service.members[fault.place % len(service.members)]
        return change_weather(service, member, member.postgres if place == "postgres" else member.redis, action)
    members = service.apis if "api" in place else service.workers
    if place == "horse":
        members = [worker for worker in members if worker.horse is not None] or members
    return OF_PROCESSES[fault.kind](service, members[fault.place % len(members)])


def find_missing() -> dict[str, str]:
    """Kinds of faults that this machine cannot have, and why."""
    return {} if find_faketime() else {"step-worker-clock": NO_CLOCK}

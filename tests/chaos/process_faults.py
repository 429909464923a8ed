"""Faults of one process: it is killed, frozen or told to end, its disk is full, or its clock is wrong."""

import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.chaos.inflicted import FaultSkipped, Inflicted, freeze_all
from tests.chaos.service import Member, Service

NO_CLOCK = "libfaketime is not installed"
_FULL_DISK_BYTES = 4096
_FAKETIME = ("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")


def find_faketime() -> str | None:
    """The library that gives a process another clock, if the machine has it."""
    return next((file for file in _FAKETIME if Path(file).exists()), None)


def _kill(service: Service, member: Member) -> Inflicted:
    return _end(service, member, signal.SIGKILL)


def _terminate(service: Service, member: Member) -> Inflicted:
    return _end(service, member, signal.SIGTERM)


def _end(service: Service, member: Member, number: signal.Signals) -> Inflicted:
    victim = service.find_victim(member)
    process = member.running
    if process is None:
        raise FaultSkipped(f"{member.name} is not running")
    member.is_doomed = True
    process.send(number)
    return Inflicted(member.name, victim=victim, member=member)


def _freeze(service: Service, member: Member) -> Inflicted:
    victim = service.find_victim(member)
    return Inflicted(member.name, freeze_all([_process_of(member)]), victim, member)


def _kill_horse(service: Service, member: Member) -> Inflicted:
    victim, horse = service.find_victim(member), _horse_of(member)
    with suppress(psutil.NoSuchProcess):
        horse.kill()
    return Inflicted(member.name, victim=victim, member=member)


def _freeze_horse(service: Service, member: Member) -> Inflicted:
    victim, horse = service.find_victim(member), _horse_of(member)
    return Inflicted(member.name, freeze_all([horse]), victim, member)


def _process_of(member: Member) -> psutil.Process:
    process = member.running  # asked once, because it may end at any moment
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(process.pid)
    raise FaultSkipped(f"{member.name} is not running")


def _horse_of(member: Member) -> psutil.Process:
    horse = member.horse
    if horse is None:
        raise FaultSkipped(f"{member.name} has no work-horse")
    return horse


def _fill_disk(service: Service, member: Member) -> Inflicted:
    """Files of the process cannot grow, as on a full disk, though the error is another: EFBIG for ENOSPC."""
    victim = service.find_victim(member)
    processes = list(_with_children(_process_of(member)))
    for process in processes:
        _limit_files(process, _FULL_DISK_BYTES)

    def mend() -> None:
        for process in processes:
            _limit_files(process, resource.RLIM_INFINITY)

    return Inflicted(member.name, mend, victim, member)


def _with_children(process: psutil.Process) -> Iterator[psutil.Process]:
    yield process
    with suppress(psutil.NoSuchProcess):
        yield from process.children()


def _limit_files(process: psutil.Process, num_bytes: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.rlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))


def _step_clock(service: Service, member: Member) -> Inflicted:
    """The worker is started again with a clock that is an hour ahead."""
    library = find_faketime()
    if library is None:
        raise FaultSkipped(NO_CLOCK)
    before = dict(member.environment)
    member.environment = {**before, "LD_PRELOAD": library, "FAKETIME": "+1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    done = _end(service, member, signal.SIGTERM)

    def mend() -> None:
        member.environment = before
        with suppress(FaultSkipped):
            _end(service, member, signal.SIGTERM)

    return Inflicted(member.name, mend, done.victim, member)


OF_PROCESSES: Mapping[str, Callable[[Service, Member], Inflicted]] = {
    "kill-worker": _kill,
    "kill-api": _kill,
    "kill-horse": _kill_horse,
    "freeze-worker": _freeze,
    "freeze-api": _freeze,
    "freeze-horse": _freeze_horse,
    "terminate-worker": _terminate,
    "terminate-api": _terminate,
    "fill-api-disk": _fill_disk,
    "fill-worker-disk": _fill_disk,
    "step-worker-clock": _step_clock,
}
"""By kind: what inflicts the fault on one API process or worker."""

"""The service under load, beside a bare endpoint of the same framework in the same run: python -m lab.benchmarks.load"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from lab.benchmarks.load.bodies import large_form, large_json, small_submission
from lab.benchmarks.load.client import Connection
from lab.benchmarks.load.floods import FLOODS, probe
from lab.benchmarks.load.measures import Peak, Times, ratios
from lab.benchmarks.load.names import finish_selections, read_bare, switch_and_read
from lab.benchmarks.load.renders import name_prompts, render_both
from lab.benchmarks.load.scenarios import Submitted, poll, submit_at_rate, upload_at_once, uploading
from lab.benchmarks.load.servers import Server, Servers, running_servers

_MIB = 2**20
_POLLED = 50
_READERS = 200
_GOALS = "goals: polls p99 at most 50 ms, nothing lost, memory at most 400 MiB, p99 of polls at most x2 beside uploads"


_FLOOD_GOALS = "goals: p99 at most 100 ms, memory at most 400 MiB"


@dataclass(frozen=True)
class Options:
    """Sizes of the scenarios."""

    pollers: int
    seconds: float
    rate: float
    uploads: int
    upload_bytes: int


async def measure(servers: Servers, options: Options) -> None:
    """Run all scenarios, Lens and the bare endpoint in turns, and print what was found."""
    ids = await _submit_some(servers.lens)
    await upload_at_once(servers.lens, large_form(_MIB), 1)  # starts the reader of large submissions
    await _measure_polls(servers, ids, options)
    await _measure_submissions(servers, options)
    json_bytes = min(options.upload_bytes, servers.settings.max_json_bytes - 1)
    for name, request in (("CSV", large_form(options.upload_bytes)), ("JSON", large_json(json_bytes))):
        await _measure_uploads(servers, ids, options, name, request)
    _say(_GOALS)


async def measure_floods(servers: Servers, seconds: float) -> None:
    """Whether a server lives while a hostile client floods it, and how much memory it takes."""
    for name, flood in FLOODS.items():
        for server in (servers.bare, servers.lens):
            times, peak = Times(), Peak(server)
            async with peak.watched():
                flooding = asyncio.create_task(flood(server, seconds))
                await probe(server, seconds, times)
                await flooding
            _say(f"{name}, {server.name}: {times.describe()}, memory at most {peak.most / _MIB:.0f} MiB")
    _say(_FLOOD_GOALS)


async def measure_names(servers: Servers, readers: int, seconds: float) -> None:
    """A name that is switched back and forth under readers, beside the bare endpoint."""
    ids = await _submit_some(servers.lens)
    rows = finish_selections(servers, ids)
    for _ in range(2):
        bare = await read_bare(servers.bare, f"/selections/{ids[0]}", readers, seconds / 2)
        _say(f"{readers} readers of the bare endpoint: {bare.describe()}")
    found = await switch_and_read(servers.lens, rows, readers, seconds)
    _say(f"{readers} readers of a name: {found.times.describe()}")
    _say(f"  {len(found.versions)} versions read, {found.mixtures} mixtures; lens / bare: {ratios(found.times, bare)}")
    _say("goals: no mixture, no 5xx, p99 at most x3")


async def measure_renders(servers: Servers, readers: int, seconds: float, pool_rows: int) -> None:
    """Readers of a prompt that finds examples for each input, and as many of a fixed one at the same time."""
    ids = (await _submit_some(servers.lens))[:2]
    name_prompts(servers, ids, pool_rows)
    found = await render_both(servers.lens, ids, readers, seconds)
    for form, times in found.items():
        _say(f"{readers // 2} readers of a {form} prompt: {times.describe()}")
    peak = servers.lens.peak_bytes() / _MIB
    _say(f"  nearest / fixed: {ratios(found['nearest'], found['fixed'])}; memory at most {peak:.0f} MiB")
    _say("goals: no 5xx, p99 at most x3, memory at most 600 MiB")


async def _measure_polls(servers: Servers, ids: list[str], options: Options) -> None:
    found: dict[str, Times] = {}
    for server in (servers.bare, servers.lens):
        found[server.name] = times = Times()
        async with uploading(server, large_form(_MIB)):
            await poll(server, ids, options.pollers, options.seconds, times)
        _say(f"{options.pollers} pollers beside uploads, {server.name}: {times.describe()}")
    _say(f"  lens / bare: {ratios(found['lens'], found['bare'])}")


async def _measure_submissions(servers: Servers, options: Options) -> None:
    found: dict[str, Submitted] = {}
    for server in (servers.bare, servers.lens):
        found[server.name] = submitted = await submit_at_rate(server, options.rate, options.seconds)
        _say(f"{options.rate:.0f} submissions a second, {server.name}: {submitted.times.describe()}")
    _say(f"  lens / bare: {ratios(found['lens'].times, found['bare'].times)}")
    _say(f"  acknowledged {len(found['lens'].locations)}, {_describe_losses(servers, found['lens'])}")


async def _measure_uploads(servers: Servers, ids: list[str], options: Options, name: str, request: bytes) -> None:
    found: dict[str, tuple[Times, Times]] = {}
    for server in (servers.bare, servers.lens):
        alone, beside, peak = Times(), Times(), Peak(server)
        await poll(server, ids, options.pollers, options.seconds, alone)
        async with peak.watched():
            polling = asyncio.create_task(poll(server, ids, options.pollers, options.seconds, beside))
            submitted = await upload_at_once(server, request, options.uploads)
            await polling
        found[server.name] = (alone, beside)
        what = f"{options.uploads} uploads of {len(request) / _MIB:.1f} MiB {name}, {server.name}"
        _say(f"{what}: {submitted.times.describe()}, memory at most {peak.most / _MIB:.0f} MiB")
        _say(f"  polls alone {alone.describe()}; beside them {beside.describe()}: {ratios(beside, alone)}")
        if server is servers.lens:
            _say(f"  acknowledged {len(submitted.locations)}, {_describe_losses(servers, submitted)}")
    _say(f"  polls beside uploads, lens / bare: {ratios(found['lens'][1], found['bare'][1])}")


def _describe_losses(servers: Servers, submitted: Submitted) -> str:
    ids = [location.rpartition("/")[2] for location in submitted.locations]
    with servers.database.session_scope() as session:
        stored = session.scalar(text("SELECT count(*) FROM jobs WHERE id = ANY(:ids)"), {"ids": ids})
    return f"lost {len(set(ids)) - (stored or 0)}, given up {submitted.given_up}"


async def _submit_some(server: Server) -> list[str]:
    connection = Connection(server.port)
    answers = [await connection.send(small_submission()) for _ in range(_POLLED)]
    connection.close()
    return [answer.headers["location"].rpartition("/")[2] for answer in answers]


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab.benchmarks.load", description=__doc__)
    parser.add_argument("--pollers", type=int, default=1000, help="clients that poll every five seconds")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each measurement (seconds)")
    parser.add_argument("--rate", type=float, default=100.0, help="submissions a second")
    parser.add_argument("--uploads", type=int, default=20, help="uploads at the same moment")
    parser.add_argument("--upload-mb", type=float, default=10.0, help="size of an upload (MB)")
    parser.add_argument("--floods", action="store_true", help="only what a hostile client sends")
    parser.add_argument("--names", action="store_true", help="only a name that is switched under 200 readers")
    parser.add_argument("--renders", action="store_true", help="only a prompt that finds examples, beside a fixed one")
    parser.add_argument("--pool-rows", type=int, default=10_000, help="rows of the pool of that prompt")
    given = parser.parse_args()
    options = Options(given.pollers, given.seconds, given.rate, given.uploads, int(given.upload_mb * 1e6))
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        Path(folder).chmod(0o711)  # Postgres runs as another account under root
        with running_servers(Path(folder)) as servers:
            if given.renders:
                asyncio.run(measure_renders(servers, _READERS, given.seconds, given.pool_rows))
            elif given.names:
                asyncio.run(measure_names(servers, _READERS, given.seconds))
            else:
                asyncio.run(measure_floods(servers, given.seconds) if given.floods else measure(servers, options))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

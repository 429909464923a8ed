"""One owner's flood of jobs, and the first job of another owner behind it."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.api_keys import headers_of, make_keys
from tests.e2e.processes import Process, start_api
from tests.e2e.stack import Stack, make_submission
from tests.e2e.waiting import until

OWNERS = ("flood", "guest")


@dataclass(frozen=True)
class Owners:
    """Clients of two owners of an API of the test's own."""

    flood: httpx.Client
    guest: httpx.Client


@pytest.fixture
def owners(lens: Stack, port: int) -> Iterator[Owners]:
    make_keys(lens.database, *OWNERS)
    api: Process = start_api(lens.environment, port, lens.log_dir / f"api-{port}.log")
    base_url = f"http://127.0.0.1:{port}"
    flood, guest = (httpx.Client(base_url=base_url, headers=headers_of(name), timeout=60) for name in OWNERS)
    with flood, guest:
        yield Owners(flood, guest)
    api.stop()


def submit(client: httpx.Client) -> str:
    response = client.post("/selections", json=make_submission())
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def test_guest_s_first_job_goes_to_the_next_free_worker(lens: Stack, owners: Owners) -> None:
    lens.hold_from(0)
    for _ in range(4):
        submit(owners.flood)
    lens.start_worker(LENS_LEASE_SECONDS="60")  # a short lease runs out on a busy machine
    until(lambda: lens.scalar("SELECT count(*) FROM jobs WHERE status = 'running'"), "the flood begins", 120)
    guest = submit(owners.guest)
    queue = owners.guest.get(f"/selections/{guest}").json()["queue"]
    assert queue["position"] == 1

    lens.start_worker(LENS_LEASE_SECONDS="60")
    has_begun = "SELECT started_at IS NOT NULL FROM jobs WHERE id = :id"
    until(lambda: lens.scalar(has_begun, id=guest), "the guest's job begins", 120)

    assert order_of_owners(lens)[:2] == ["flood", "guest"]
    lens.let_go()


def order_of_owners(lens: Stack) -> list[str]:
    with lens.database.session_scope() as session:
        rows = session.connection().exec_driver_sql("SELECT owner_id FROM jobs ORDER BY started_at NULLS LAST")
        return [str(row.owner_id) for row in rows]

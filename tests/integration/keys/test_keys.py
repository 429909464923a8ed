"""Keys of the database: who gets in, how soon a change takes effect, and what an outage does."""

import re
import time

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store import keys as service
from app.store.database import Database
from app.store.keys import hash_key
from tests.e2e.waiting import until
from tests.integration.conftest import MakeClient, run_sql
from tests.integration.samples import make_submission, problem_of
from tests.outages import absent

NOWHERE = "lens_" + "0" * 64


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def guarded(make_client: MakeClient) -> TestClient:
    """A service that asks for a key, and reads it at each request."""
    return make_client(require_keys=True, key_cache_seconds=0)


def test_key_has_a_form_that_scanners_find_and_only_its_hash_is_stored(database: Database) -> None:
    made = service.create_key(database, "alice", "laptop")
    assert re.fullmatch(r"lens_[0-9a-f]{64}", made.secret)
    stored = run_sql(database, "SELECT keys::text FROM api_keys AS keys")
    assert made.secret[13:] not in stored
    assert hash_key(made.secret) in stored
    assert made.secret not in repr(made)


def test_refusals_of_unknown_revoked_and_expired_keys_do_not_differ(guarded: TestClient, database: Database) -> None:
    revoked, expired = (service.create_key(database, "alice", name, days=1) for name in ("revoked", "expired"))
    for made in (revoked, expired):
        assert guarded.get("/models", headers=bearer(made.secret)).status_code == 200
    service.revoke_key(database, revoked.row.id)
    run_sql(database, "UPDATE api_keys SET expires_at = now() WHERE id = :id", id=expired.row.id)
    bodies = []
    for key in (revoked.secret, expired.secret, NOWHERE, "short", ""):
        body = problem_of(guarded.get("/models", headers=bearer(key)), 401, "unauthorized")
        bodies.append({name: value for name, value in body.items() if name != "request_id"})
    assert all(body == bodies[0] for body in bodies)


def test_change_takes_effect_within_the_lifetime(make_client: MakeClient, database: Database) -> None:
    client = make_client(require_keys=True, key_cache_seconds=0.3)
    assert client.get("/models", headers=bearer(NOWHERE)).status_code == 401
    made = service.create_key(database, "alice", "laptop")
    until(lambda: client.get("/models", headers=bearer(made.secret)).status_code == 200, "the key is known")
    service.revoke_key(database, made.row.id)
    assert client.get("/models", headers=bearer(made.secret)).status_code in {200, 401}
    time.sleep(0.3)
    assert client.get("/models", headers=bearer(made.secret)).status_code == 401


def test_first_key_closes_the_service_and_revoking_opens_nothing(make_client: MakeClient, database: Database) -> None:
    client = make_client(key_cache_seconds=0)
    assert client.get("/models").status_code == 200
    made = service.create_key(database, "alice", "laptop")
    problem_of(client.get("/models"), 401, "unauthorized")
    assert client.get("/models", headers=bearer(made.secret)).status_code == 200
    service.revoke_key(database, made.row.id)
    problem_of(client.get("/models"), 401, "unauthorized")


def test_use_is_noted_once_a_minute(guarded: TestClient, database: Database) -> None:
    key = service.create_key(database, "alice", "laptop").secret

    def last_use() -> object:
        return service.list_keys(database)[0].last_used_at

    assert last_use() is None
    guarded.get("/models", headers=bearer(key))
    until(last_use, "the use is noted")
    first = last_use()
    for _ in range(5):
        guarded.get("/models", headers=bearer(key))
    time.sleep(0.2)
    assert last_use() == first


def test_known_key_is_not_asked_for_again_and_another_is_503_in_an_outage(
    make_client: MakeClient, database: Database, settings: Settings
) -> None:
    client = make_client(require_keys=True, key_cache_seconds=60)
    key, new = (service.create_key(database, "alice", name).secret for name in ("laptop", "phone"))
    for presented, status in ((key, 200), (NOWHERE, 401)):
        assert client.get("/models", headers=bearer(presented)).status_code == status
    with absent(settings):
        for presented, status in ((key, 200), (NOWHERE, 401)):
            assert client.get("/models", headers=bearer(presented)).status_code == status
        refused = client.post("/selections", json=make_submission(), headers=bearer(new))
        problem_of(refused, 503, "unavailable")
        assert refused.headers["retry-after"] == "5"
    assert client.get("/models", headers=bearer(new)).status_code == 200


@pytest.mark.parametrize(("owner", "name"), [("al ice", "x"), ("", "x"), ("alice", ""), ("alice", "x" * 101)])
def test_bad_name_is_refused(database: Database, owner: str, name: str) -> None:
    with pytest.raises(service.KeyRefused):
        service.create_key(database, owner, name)

"""GET /usage and `lens usage`: what owners have stored and under way."""

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.metrics.counters import DEVICE_SECONDS, CounterKey, add_to_counters
from app.settings import Settings
from app.store.database import Database
from app.store.quota import check_bytes
from app.store.stored_bytes import count_stored
from app.web.authentication import LOCAL_OWNER
from lens_cli.application import create_application
from tests.integration.conftest import Selections
from tests.integration.samples import make_rows, make_submission


def test_owner_without_anything_uses_nothing(client: TestClient, settings: Settings) -> None:
    found = client.get("/usage").json()

    assert set(found["bytes"].values()) == {0, settings.max_owner_bytes}
    assert found["jobs"] == [
        {"kind": kind, "stored": 0, "under_way": 0} for kind in ("selection", "evaluation", "prediction")
    ]
    assert (found["names"], found["device_seconds"]) == (0, 0)


def test_usage_is_what_the_quota_counts(client: TestClient, selections: Selections, database: Database) -> None:
    selection_id, _ = selections.asked("prediction")
    selections.queued()
    client.put("/prompts/triage", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    client.post("/datasets", json={"examples": make_rows()[:30]})
    with database.session_scope() as session:
        add_to_counters(session, {CounterKey(DEVICE_SECONDS, LOCAL_OWNER): 3.5})
        counted = count_stored(session, LOCAL_OWNER)

    found = client.get("/usage").json()

    sizes = dict(found["bytes"])
    assert sizes.pop("total") == counted
    sizes.pop("limit")
    assert sum(sizes.values()) == counted
    assert sizes.pop("checkpoints") == 0
    assert min(sizes.values()) > 0
    assert [(one["stored"], one["under_way"]) for one in found["jobs"]] == [(2, 1), (0, 0), (1, 1)]
    assert (found["names"], found["device_seconds"]) == (1, 3.5)
    client.delete("/prompts/triage", headers={"If-Match": '"1"'})
    assert client.get("/usage").json()["names"] == 0


def test_report_that_is_kept_counts(client: TestClient) -> None:
    dataset_id = client.post("/datasets", json={"examples": make_rows()[:30]}).json()["id"]
    before = client.get("/usage").json()["bytes"]["datasets"]
    assert client.get(f"/datasets/{dataset_id}/report").status_code == 200
    assert client.get("/usage").json()["bytes"]["datasets"] > before


def test_byte_more_than_the_usage_leaves_is_refused(
    make_client: Callable[..., TestClient], database: Database, settings: Settings
) -> None:
    client = make_client()
    client.post("/selections", json=make_submission())
    total = client.get("/usage").json()["bytes"]["total"]
    with database.session_scope() as session:
        check_bytes(session, LOCAL_OWNER, settings.model_copy(update={"max_owner_bytes": total}))
        with pytest.raises(Exception, match=f"{total + 1:,} bytes stored"):
            check_bytes(session, LOCAL_OWNER, settings.model_copy(update={"max_owner_bytes": total}), added=1)


def test_operator_sees_every_owner_the_largest_first(
    selections: Selections, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_DATABASE_URL", settings.database_url)
    monkeypatch.setenv("COLUMNS", "200")
    command = ["usage"]
    assert "Nothing is stored." in CliRunner().invoke(create_application(), command).stdout
    selections.succeeded()
    with database.session_scope() as session:
        add_to_counters(session, {CounterKey(DEVICE_SECONDS, "another"): 7200.0})

    shown = CliRunner().invoke(create_application(), command).stdout.splitlines()

    assert [line.split()[0] for line in shown] == ["Owner", LOCAL_OWNER, "another"]
    assert shown[2].rstrip().endswith("2.0 h")

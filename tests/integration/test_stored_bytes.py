"""What owners have stored: what the quota counts, and docs/owners.sql."""

from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.lifecycle.endings import DEVICE_SECONDS, CounterKey, add_to_counters
from app.settings import Settings
from app.store.database import Database
from app.store.quota import check_bytes
from app.web.authentication import LOCAL_OWNER
from tests.integration.conftest import MakeClient, Selections
from tests.integration.prompts_with_pools import make_finding_result
from tests.integration.samples import make_rows, make_submission
from tests.integration.test_quota import stored_by
from tests.integration.test_resume import put_checkpoint

QUERY = Path(__file__).parents[2] / "docs" / "owners.sql"


def test_query_of_the_docs_lists_owners_by_what_the_quota_counts(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded(make_finding_result())
    put_checkpoint(selections.database, selections.queued(), b"x")
    client.put("/prompts/triage", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    added = {"text": "the parcel came late", "label": "negative"}
    assert client.post("/prompts/triage/examples", json={"examples": [added]}, headers={"If-Match": "*"}).is_success
    client.post("/datasets", json={"examples": make_rows()[:30]})
    with selections.database.session_scope() as session:
        add_to_counters(session, {CounterKey(DEVICE_SECONDS, LOCAL_OWNER): 3.5, CounterKey(DEVICE_SECONDS, "bob"): 7})
        found, other = (dict(row._mapping) for row in session.execute(text(QUERY.read_text("utf-8"))))

    assert (found["owner_id"], found["stored"]) == (LOCAL_OWNER, stored_by(selections.database))
    assert min(found["datasets"], found["results"], found["checkpoints"]) > 0
    counts = {"names": 1, "jobs": 2, "under_way": 1, "device_seconds": 3.5}
    assert {name: found[name] for name in counts} == counts
    assert (other["owner_id"], other["stored"], other["device_seconds"]) == ("bob", 0, 7)


def test_byte_more_than_is_left_is_refused(make_client: MakeClient, database: Database, settings: Settings) -> None:
    make_client().post("/selections", json=make_submission())
    total = stored_by(database)
    with database.session_scope() as session:
        check_bytes(session, LOCAL_OWNER, settings.model_copy(update={"max_owner_bytes": total}))
        with pytest.raises(Exception, match=f"{total + 1:,} bytes stored"):
            check_bytes(session, LOCAL_OWNER, settings.model_copy(update={"max_owner_bytes": total}), added=1)

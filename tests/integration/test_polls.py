"""Polls and lists: what they cost, when to ask again, and an ETag that follows everything a client sees."""

import re
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.errors import problem
from app.lifecycle import claims, endings
from tests.integration.conftest import Selections, asked_of
from tests.integration.samples import PROGRESS, make_result


def statements_of(client: TestClient) -> AbstractContextManager[list[tuple[str, Any]]]:
    """The SQL of the service within the block."""
    return asked_of(client.app.state.services.database.engine)  # type: ignore[attr-defined]


def test_known_selection_costs_one_read_without_its_spec(client: TestClient, selections: Selections) -> None:
    path = f"/selections/{selections.running().job_id}"
    etag = client.get(path).headers["etag"]
    with statements_of(client) as statements:
        assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    (statement,) = (statement for statement, _ in statements if "FROM jobs" in statement)
    assert not {"jobs.spec", "jobs.warnings"} & set(re.findall(r"[\w.]+", statement))


@pytest.mark.parametrize(
    ("part", "table"), [("support-examples", "reports"), ("result", "reports"), ("classifier", "classifiers")]
)
def test_known_result_is_not_read(client: TestClient, selections: Selections, part: str, table: str) -> None:
    path = f"/selections/{selections.succeeded()}/{part}"
    etag = client.get(path).headers["etag"]
    with statements_of(client) as statements:
        assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    assert [one for one, _ in statements if f"{table}.{table[:-1]}" in one or ".result" in one] == []


def test_etag_changes_with_everything_that_a_client_sees(client: TestClient, selections: Selections) -> None:
    selection_id = selections.queued()
    seen: dict[str, str] = {}

    def look() -> None:
        response = client.get(f"/selections/{selection_id}")
        assert seen.setdefault(response.headers["etag"], response.text) == response.text

    look()
    claim = selections.claim(selection_id)
    look()
    for pairs in (10, 20):
        selections.transact(claims.renew_lease, claim, 60, replace(PROGRESS, pairs_done=pairs))
        look()
    selections.transact(endings.requeue, claim)
    look()
    claim = selections.claim(selection_id)
    look()
    client.post(f"/selections/{selection_id}/cancel")
    look()
    selections.transact(endings.finish, claim, make_result())
    look()
    assert len(seen) == len(set(seen.values())) == 8


@pytest.mark.parametrize(
    ("eta", "seconds"), [(None, "2"), (0.0, "2"), (15.0, "2"), (90.0, "9"), (91.0, "10"), (1e9, "30")]
)
def test_next_poll_comes_after_a_tenth_of_the_remaining_time(
    client: TestClient, selections: Selections, eta: float | None, seconds: str
) -> None:
    claim = selections.running()
    selections.transact(claims.renew_lease, claim, 60, replace(PROGRESS, eta_seconds=eta))
    path = f"/selections/{claim.job_id}"
    shown = client.get(path)
    known = client.get(path, headers={"If-None-Match": shown.headers["etag"]})
    early = client.get(f"{path}/support-examples")
    assert [answer.headers["retry-after"] for answer in (shown, known, early)] == [seconds] * 3


def test_items_of_a_list_are_selections_without_what_may_be_large(client: TestClient, selections: Selections) -> None:
    claim = selections.running()
    errors: Any = [{"detail": "long", "pointer": "/x"}]
    assert selections.transact(endings.fail, claim, problem("timeout", "late", errors=errors))
    ids = [claim.job_id, selections.queued(), selections.succeeded()]
    items = client.get("/selections").json()["items"]
    whole = [client.get(f"/selections/{id_}").json() for id_ in reversed(ids)]
    assert whole[2]["error"]["errors"] == errors
    del whole[2]["error"]["errors"]
    large = ("spec", "warnings", "queue")
    assert items == [{name: value for name, value in one.items() if name not in large} for one in whole]


@pytest.mark.parametrize("path", ["/selections", "/models", "/selections/{id}", "/selections/{id}/events"])
def test_answers_to_an_owner_are_kept_for_nobody_else(client: TestClient, selections: Selections, path: str) -> None:
    response = client.get(path.replace("{id}", selections.succeeded()))
    assert "Authorization" in response.headers["vary"]
    assert response.headers["cache-control"] in {"no-store", "private, no-cache"}

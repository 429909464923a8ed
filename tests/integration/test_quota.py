"""LENS_MAX_SELECTIONS: how many selections of one owner are queued or running at once."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from starlette.testclient import TestClient

from app.database import Database
from tests.integration.conftest import Selections
from tests.integration.samples import make_submission, problem_of


def test_one_selection_too_many_is_refused_until_one_ends(
    make_client: Callable[..., TestClient], database: Database
) -> None:
    selections = Selections(make_client(max_selections=2), database)
    queued = selections.queued()
    selections.claim(selections.queued())
    response = selections.client.post("/selections", json=make_submission())
    problem_of(response, 429, "too-many-selections")
    assert int(response.headers["Retry-After"]) > 0

    selections.client.post(f"/selections/{queued}/cancel")
    selections.queued()


def test_revival_counts_as_a_submission(make_client: Callable[..., TestClient], database: Database) -> None:
    selections = Selections(make_client(max_selections=1), database)
    failed, cancelled = selections.failed(), selections.cancelled()
    selections.queued()
    for selection_id, act in ((failed, "retry"), (cancelled, "resume")):
        problem_of(selections.client.post(f"/selections/{selection_id}/{act}"), 429, "too-many-selections")
        assert selections.status_of(selection_id) in {"failed", "cancelled"}


def test_owners_are_counted_apart(make_client: Callable[..., TestClient]) -> None:
    keys = {hashlib.sha256(owner.encode()).hexdigest(): owner for owner in ("alice", "bob")}
    client = make_client(max_selections=1, api_keys=keys)
    answers = [
        client.post("/selections", json=make_submission(), headers={"Authorization": f"Bearer {owner}"}).status_code
        for owner in ("alice", "bob", "alice")
    ]
    assert answers == [202, 202, 429]


def test_repeated_request_gets_its_answer_and_counts_once(make_client: Callable[..., TestClient]) -> None:
    client = make_client(max_selections=1)
    headers = {"Idempotency-Key": "one"}
    answers = [client.post("/selections", json=make_submission(), headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[1].headers["Idempotent-Replayed"] == "true"


def test_submissions_at_once_do_not_exceed_the_limit(make_client: Callable[..., TestClient]) -> None:
    with make_client(max_selections=3) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/selections", json=make_submission()).status_code, range(8)))
    assert sorted(answers) == [202] * 3 + [429] * 5

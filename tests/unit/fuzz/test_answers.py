"""The judge of the fuzz run notices each kind of bad answer."""

import json
from typing import Any

import pytest

from tests.fuzz.answers import Answer, documented_codes, find_faults

OURS, FOREIGN = "sel_" + "a" * 26, "sel_" + "b" * 26
PROBLEM = {
    "type": "https://lens.example/problems/not-found",
    "code": "not-found",
    "title": "The resource does not exist",
    "status": 404,
    "detail": "no such selection",
    "instance": "/selections/x",
    "errors": [],
    "request_id": "r",
}


def faults(
    status: int, body: object, method: str = "GET", path: str = f"/selections/{OURS}", **headers: str
) -> list[str]:
    given = {"content-type": "application/problem+json", "x-request-id": "r", **headers}
    answer = Answer(method, path, path, status, given, json.dumps(body).encode())
    return find_faults(answer, documented_codes(), {FOREIGN})


def test_documented_refusal_has_no_fault() -> None:
    assert faults(404, PROBLEM) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"type": "https://lens.example/problems/made-up"}, "code 'made-up' with status 404"),
        ({"type": "https://lens.example/problems/busy"}, "code 'busy' with status 404"),
        ({"status": 400}, "the problem says 400"),
        ({"detail": ""}, "without title or detail"),
        ({"request_id": "s"}, "request_id differs"),
        ({"more": 1}, "members of the problem"),
    ],
)
def test_bad_problem_is_a_fault(change: dict[str, Any], fault: str) -> None:
    (found,) = faults(404, {**PROBLEM, **change})
    assert fault in found


def test_refusal_of_another_media_type_is_a_fault() -> None:
    (found,) = faults(404, PROBLEM, **{"content-type": "application/json"})
    assert "refusal 404 of type application/json" in found


def test_internal_error_is_a_fault() -> None:
    assert any(fault.startswith("status 500") for fault in faults(500, PROBLEM))


def test_id_of_another_owner_is_a_fault() -> None:
    (found,) = faults(200, {"items": [{"id": FOREIGN}]})
    assert "ids of another owner" in found


def test_id_that_the_request_named_may_be_repeated_in_a_refusal() -> None:
    assert faults(404, {**PROBLEM, "instance": FOREIGN}, path=f"/selections/{FOREIGN}") == []


def test_request_for_an_id_of_another_owner_must_not_succeed() -> None:
    (found,) = faults(200, {}, path=f"/selections/{FOREIGN}")
    assert "was carried out" in found

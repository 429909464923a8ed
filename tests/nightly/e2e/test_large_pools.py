"""A prompt over the rows of the largest dataset that the service takes: it answers, learns, and says its limits."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from app.store.tables import Status
from tests.e2e.stack import NEAREST, Stack, make_submission

NUM_ROWS = 100_000
MOST_MEMORY_BYTES = 600 * 2**20
_WORDS = ("parcel", "refund", "account", "password", "delivery", "invoice", "charge", "router", "light", "letter")
_BUSY_SECONDS = 300.0
"""Longest wait for a selection or an answer on a busy machine."""


def write_text(row: int) -> str:
    """A text of some hundred characters; all differ, and those near each other in number have words in common."""
    words = [_WORDS[int(digit)] for digit in f"{row:06}"]
    return f"the {words[0]} of the {words[1]} came with a {words[2]}, said the {words[3]} about {words[4]} {words[5]}s"


def write_rows() -> bytes:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["text", "label"])
    writer.writerows([write_text(row), "good" if row % 2 else "bad"] for row in range(NUM_ROWS))
    return written.getvalue().encode()


@pytest.fixture(autouse=True)
def patience(lens: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens.client, "timeout", _BUSY_SECONDS)


@pytest.fixture
def mail(lens: Stack) -> str:
    """The path of a name whose prompt finds examples in the large pool. The warning of a sample is checked."""
    lens.start_worker()
    spec = {**make_submission()["spec"], "options": NEAREST}
    posted = lens.client.post("/selections", files={"dataset": write_rows()}, data={"spec": json.dumps(spec)})
    assert posted.status_code == 202, posted.text
    selection_id = posted.json()["id"]
    assert lens.wait_until_done(selection_id, _BUSY_SECONDS)["status"] == Status.SUCCEEDED, lens.logs()
    warnings = lens.client.get(f"/selections/{selection_id}/result").json()["warnings"]
    assert [f"among 20,000 rows, a random sample of {NUM_ROWS - 20:,}" in one for one in warnings].count(True) == 1
    put = lens.client.put("/prompts/mail", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    assert put.status_code == 201, put.text
    return "/prompts/mail"


def render(lens: Stack, path: str, text: str) -> dict[str, Any]:
    answer = lens.client.post(f"{path}/render", json={"input": text})
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def test_prompt_over_the_largest_dataset_answers_and_learns(lens: Stack, mail: str) -> None:
    text = "a router that came with a light, said my letter"
    before = render(lens, mail, text)
    assert (before["pool_rows"], len(before["prompts"][0]["demonstrations"]) in (4, 8, 16)) == (20_000, True)
    examples = [{"text": f"{text} {'i' * number}", "label": "good"} for number in range(1, 201)]
    headers = {"If-Match": '"1"'}
    assert lens.client.post(f"{mail}/examples", json={"examples": examples}, headers=headers).status_code == 200
    after = render(lens, mail, text)
    assert after["pool_rows"] == 20_200
    assert {one["row"] for one in after["prompts"][0]["demonstrations"]} <= set(range(NUM_ROWS, NUM_ROWS + 200))
    assert lens.api is not None
    words = Path(f"/proc/{lens.api.pid}/status").read_text().split()
    assert int(words[words.index("VmHWM:") + 1]) * 1024 < MOST_MEMORY_BYTES

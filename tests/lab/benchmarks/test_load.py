"""The bodies that the load test sends are submissions that the service takes."""

import json
import time

import pytest

from lab.benchmarks.load.client import Answer, Times
from lab.benchmarks.load.submissions import large_form, large_json, small_submission


def split(request: bytes) -> tuple[list[str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), body


@pytest.mark.parametrize("request_bytes", [large_form(100_000), large_json(100_000), small_submission()])
def test_request_declares_the_length_of_its_body(request_bytes: bytes) -> None:
    lines, body = split(request_bytes)
    assert lines[0] == "POST /selections HTTP/1.1"
    assert f"Content-Length: {len(body)}" in lines


def test_large_json_is_whole_and_below_its_size() -> None:
    _, body = split(large_json(300_000))
    assert 200_000 < len(body) < 300_000
    assert len(json.loads(body)["examples"]) > 100


def test_submissions_have_keys_of_their_own() -> None:
    keys = {line for _ in range(3) for line in split(small_submission())[0] if line.startswith("Idempotency-Key")}
    assert len(keys) == 3


def test_times_are_shown_in_units_of_the_bare_endpoint() -> None:
    ours, bare = Times(), Times()
    for _ in range(10):
        ours.note(time.monotonic() - 30.0, Answer(200, {}))
        bare.note(time.monotonic() - 10.0, Answer(200, {}))
    assert ours.over(bare) == "p50 x3.0, p99 x3.0"

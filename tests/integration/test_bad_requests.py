"""Bodies that are no submission at all: broken forms, and anything that chance comes up with."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from app.database import Database
from app.settings import Settings
from tests.integration.refused_submissions import CANARY, GOOD_ROWS, Intake, Refusal
from tests.integration.samples import make_spec
from tests.unit.lens_engine.reading.dataset_uploads import write_csv

CSV = write_csv(GOOD_ROWS)
SPEC = json.dumps(make_spec()).encode()
UNREADABLE = Refusal("bad-request", (), 400)


@pytest.fixture
def intake(client: TestClient, database: Database, settings: Settings) -> Intake:
    return Intake(client, database, settings)


def part(header: bytes, content: bytes) -> bytes:
    return b"--edge\r\n" + header + b"\r\n\r\n" + content + b"\r\n"


def named(name: bytes, content: bytes) -> bytes:
    return part(b'Content-Disposition: form-data; name="' + name + b'"; filename="canary-7f3a"', content)


GOOD_PARTS = named(b"dataset", CSV) + named(b"spec", SPEC)

BAD_FORMS: list[tuple[str, bytes, Refusal]] = [
    ("part header of 100 kB", part(b"X-Canary: " + b"x" * 100_000, CSV) + b"--edge--", UNREADABLE),
    ("part name of 100 kB", named(b"x" * 100_000, CSV) + b"--edge--", UNREADABLE),
    ("1,000 part headers", part(b"\r\n".join([b"X-A: b"] * 1_000), CSV) + b"--edge--", UNREADABLE),
    ("part without a name", part(b"Content-Disposition: form-data", CSV) + b"--edge--", UNREADABLE),
    ("part without a header", part(b"", CSV) + b"--edge--", UNREADABLE),
    ("broken off in the dataset", GOOD_PARTS[:500], UNREADABLE),
    ("broken off in the test file", GOOD_PARTS + named(b"test", CSV)[:-200], UNREADABLE),
    ("no last edge", GOOD_PARTS, UNREADABLE),
    ("another edge", GOOD_PARTS.replace(b"--edge", b"--other"), UNREADABLE),
    ("a file four times", named(b"dataset", CSV) * 4 + b"--edge--", UNREADABLE),
    ("no parts", b"--edge--\r\n", Refusal("invalid-request", ("/dataset",))),
    (
        "spec of 2 MB",
        named(b"dataset", CSV) + named(b"spec", b" " * 2**21) + b"--edge--",
        Refusal("invalid-request", ("/spec",)),
    ),
]


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in BAD_FORMS], ids=[case[0] for case in BAD_FORMS])
def test_broken_form_is_refused(intake: Intake, body: bytes, expected: Refusal) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}

    intake.assert_refused(intake.client.post("/selections", content=body, headers=headers), expected)


def test_compressed_form_is_refused_unread(intake: Intake) -> None:
    headers = {"Content-Encoding": "gzip"}
    response = intake.client.post("/selections", files={"dataset": CSV}, data={"spec": SPEC}, headers=headers)

    intake.assert_refused(response, Refusal("unsupported-media-type", (), 415))


def test_form_too_large_for_memory_and_cap_is_refused(
    make_client: Callable[..., TestClient], database: Database, settings: Settings
) -> None:
    """The upload is on disk already when it passes the cap."""
    intake = Intake(make_client(max_upload_bytes=3 * 2**20), database, settings)
    body = named(b"dataset", CANARY.encode() * 2**19)
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    chunks = (body[start : start + 2**16] for start in range(0, len(body), 2**16))
    response = intake.client.post("/selections", content=chunks, headers=headers)

    intake.assert_refused(response, Refusal("content-too-large", (), 413))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
fields = st.sampled_from([*make_spec(), "model", "separator", "name", "owner_id"])
specs = values | st.dictionaries(fields, values).map(lambda changes: make_spec(**changes))
datasets = (
    st.binary(max_size=300)
    | st.binary(max_size=100).map(lambda noise: b"text,label\n" + noise)
    | st.binary(max_size=100).map(lambda noise: CSV + noise)
    | st.binary(max_size=100).map(lambda noise: b'{"text": "' + noise)
    | st.just(CSV)
)


@hypothesis_settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(dataset=datasets, spec=specs, inline=st.none() | values)
def test_anything_sent_is_taken_or_refused(intake: Intake, dataset: bytes, spec: Any, inline: Any) -> None:
    form = intake.client.post("/selections", files={"dataset": dataset}, data={"spec": json.dumps(spec)})
    whole = intake.send_json({"spec": spec, "examples": inline})

    for response in (form, whole):
        assert response.status_code == 202 or 400 <= response.status_code < 500, response.text
        if response.status_code != 202:
            assert response.headers["content-type"] == "application/problem+json"

"""Bodies that are no submission at all: broken forms, and anything that chance comes up with."""

import json
import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, seed
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


def plain(name: bytes, content: bytes, header: bytes = b"") -> bytes:
    return part(b'Content-Disposition: form-data; name="' + name + b'"' + header, content)


FOREIGN_CHARSETS = [
    "punycode",
    '"punycode"',
    "PUNYCODE",
    "undefined",
    "utf-7",
    "utf-16",
    "utf-8-sig",
    "idna",
    "rot13",
    "latin-1",
    "x-no-such-codec",
    "utf-8; charset=punycode",
    "",
]


@pytest.mark.parametrize("charset", FOREIGN_CHARSETS)
def test_form_in_another_charset_is_refused(intake: Intake, charset: str) -> None:
    headers = {"Content-Type": f"multipart/form-data; boundary=edge; charset={charset}"}
    response = intake.client.post("/selections", content=GOOD_PARTS + b"--edge--", headers=headers)

    body = intake.assert_refused(response, UNREADABLE)
    assert "write the parts in UTF-8" in body["detail"]


def test_form_in_a_slow_charset_is_refused_at_once(intake: Intake) -> None:
    """The codec takes half a minute for this part."""
    headers = {"Content-Type": "multipart/form-data; boundary=edge; charset=punycode"}
    content = plain(b"spec", b"b" * 300_000) + b"--edge--"
    started = time.process_time()
    intake.assert_refused(intake.client.post("/selections", content=content, headers=headers), UNREADABLE)

    assert time.process_time() - started < 5


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "us-ascii", "punycode; charset=utf-8"])
def test_form_in_utf8_is_read(intake: Intake, charset: str) -> None:
    spec = json.dumps(make_spec(name="prüfung"), ensure_ascii=False).encode()
    headers = {"Content-Type": f"multipart/form-data; boundary=edge; charset={charset}"}
    content = named(b"dataset", CSV) + plain(b"spec", spec) + b"--edge--"
    response = intake.client.post("/selections", content=content, headers=headers)

    assert response.status_code == 202, response.text
    assert response.json()["name"] == "prüfung"


PART_HEADERS = [
    b"\r\nContent-Type: application/json; charset=punycode",
    b"\r\nContent-Transfer-Encoding: quoted-printable",
    b"; name*=punycode''dataset",
    b"; filename*=undefined''spec",
]


@pytest.mark.parametrize("header", PART_HEADERS)
def test_charset_in_the_header_of_a_part_is_not_used(intake: Intake, header: bytes) -> None:
    spec = json.dumps(make_spec(name="prüfung"), ensure_ascii=False).encode()
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    content = named(b"dataset", CSV) + plain(b"spec", spec, header) + b"--edge--"
    response = intake.client.post("/selections", content=content, headers=headers)

    assert response.status_code == 202, response.text
    assert response.json()["name"] == "prüfung"


def test_file_name_of_any_bytes_is_not_used(intake: Intake) -> None:
    header = b'Content-Disposition: form-data; name="dataset"; filename="\xff\xfe"; filename*=punycode\'\'bb'
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    content = part(header, CSV) + named(b"spec", SPEC) + b"--edge--"

    assert intake.client.post("/selections", content=content, headers=headers).status_code == 202


@pytest.mark.parametrize(
    ("name", "pointers"), [(b"spec", ("/spec",)), (b"text_column", ("/text_column",)), (b"other", ())]
)
def test_part_that_is_not_utf8_is_refused_with_its_byte(intake: Intake, name: bytes, pointers: tuple[str, ...]) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    content = GOOD_PARTS + plain(name, b"pr\xfcfung") + b"--edge--"
    response = intake.client.post("/selections", content=content, headers=headers)

    body = intake.assert_refused(response, Refusal("bad-request", pointers, 400))
    assert "is not UTF-8 (byte 2)" in body["detail"]


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


SEED = int(os.environ.get("BAD_REQUESTS_SEED") or random.randrange(10**6))
"""Another one in each run; a failure prints it."""


def check_anything(intake: Intake, dataset: bytes, spec: Any, inline: Any) -> None:
    form = intake.client.post("/selections", files={"dataset": dataset}, data={"spec": json.dumps(spec)})
    whole = intake.send_json({"spec": spec, "examples": inline})

    for response in (form, whole):
        assert response.status_code == 202 or 400 <= response.status_code < 500, response.text
        if response.status_code != 202:
            assert response.headers["content-type"] == "application/problem+json"


MANY = hypothesis_settings(
    max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@hypothesis_settings(MANY, derandomize=True)
@given(dataset=datasets, spec=specs, inline=st.none() | values)
def test_anything_sent_is_taken_or_refused(intake: Intake, dataset: bytes, spec: Any, inline: Any) -> None:
    check_anything(intake, dataset, spec, inline)


@seed(SEED)
@hypothesis_settings(MANY)
@given(dataset=datasets, spec=specs, inline=st.none() | values)
def test_anything_new_that_is_sent_is_taken_or_refused(intake: Intake, dataset: bytes, spec: Any, inline: Any) -> None:
    note(f"BAD_REQUESTS_SEED={SEED} repeats these requests")
    check_anything(intake, dataset, spec, inline)

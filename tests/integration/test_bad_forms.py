"""Multipart bodies: broken ones, foreign charsets, missing and unknown parts."""

import json

import pytest

from app.settings import Settings
from app.store.database import Database
from tests.integration.conftest import MakeClient
from tests.integration.refused_submissions import CANARY, GOOD_ROWS, Intake, Refusal
from tests.integration.samples import make_spec
from tests.unit.lens_engine.files.dataset_uploads import write_csv

CSV = write_csv(GOOD_ROWS)
SPEC = json.dumps(make_spec()).encode()
UNREADABLE = Refusal("bad-request", (), 400)
FORM = {"Content-Type": "multipart/form-data; boundary=edge"}


def part(header: bytes, content: bytes) -> bytes:
    return b"--edge\r\n" + header + b"\r\n\r\n" + content + b"\r\n"


def named(name: bytes, content: bytes) -> bytes:
    return part(b'Content-Disposition: form-data; name="' + name + b'"; filename="canary-7f3a"', content)


def plain(name: bytes, content: bytes, header: bytes = b"") -> bytes:
    return part(b'Content-Disposition: form-data; name="' + name + b'"' + header, content)


GOOD_PARTS = named(b"dataset", CSV) + named(b"spec", SPEC)
EDGE = b"--edge--"


def lacks(pointer: str) -> Refusal:
    return Refusal("invalid-request", (pointer,))


BAD_FORMS: list[tuple[str, bytes, Refusal]] = [
    ("part header of 100 kB", part(b"X-Canary: " + b"x" * 100_000, CSV) + EDGE, UNREADABLE),
    ("1,000 part headers", part(b"\r\n".join([b"X-A: b"] * 1_000), CSV) + EDGE, UNREADABLE),
    ("part without a name", part(b"Content-Disposition: form-data", CSV) + EDGE, UNREADABLE),
    ("part without a header", part(b"", CSV) + EDGE, UNREADABLE),
    ("broken off in the test file", GOOD_PARTS + named(b"test", CSV)[:-200], UNREADABLE),
    ("no last edge", GOOD_PARTS, UNREADABLE),
    ("another edge", GOOD_PARTS.replace(b"--edge", b"--other"), UNREADABLE),
    ("2,000 files", named(b"dataset", b"x") * 2_000 + EDGE, UNREADABLE),
    ("no parts", EDGE, lacks("/dataset")),
    ("no dataset", named(b"spec", SPEC) + EDGE, lacks("/dataset")),
    ("unknown part", GOOD_PARTS + named(b"data", b"") + EDGE, lacks("/data")),
    ("two datasets", named(b"dataset", CSV) + GOOD_PARTS + EDGE, lacks("/dataset")),
    ("dataset without a file name", plain(b"dataset", CSV) + named(b"spec", SPEC) + EDGE, lacks("/dataset")),
    ("spec of 2 MB", named(b"dataset", CSV) + named(b"spec", b" " * 2**21) + EDGE, lacks("/spec")),
    ("delimiter of 2 MB", GOOD_PARTS + plain(b"delimiter", b";" * 2**21) + EDGE, lacks("/delimiter")),
    ("NUL in the encoding", GOOD_PARTS + plain(b"encoding", b"utf\x008") + EDGE, lacks("/encoding")),
    ("empty delimiter", GOOD_PARTS + plain(b"delimiter", b"") + EDGE, lacks("/delimiter")),
    ("no delimiter", GOOD_PARTS + plain(b"delimiter", b"x") + EDGE, Refusal("invalid-dataset", ("/delimiter",))),
    ("unknown encoding", GOOD_PARTS + plain(b"encoding", b"utf-9") + EDGE, Refusal("invalid-dataset", ("/encoding",))),
    ("empty name of a column", GOOD_PARTS + plain(b"text_column", b"") + EDGE, lacks("/text_column")),
    ("long name of a column", GOOD_PARTS + plain(b"label_column", b"x" * 201) + EDGE, lacks("/label_column")),
]


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in BAD_FORMS], ids=[case[0] for case in BAD_FORMS])
def test_broken_form_is_refused(intake: Intake, body: bytes, expected: Refusal) -> None:
    intake.assert_refused(intake.client.post("/selections", content=body, headers=FORM), expected)


def test_form_beyond_memory_and_cap_is_refused(make_client: MakeClient, database: Database, settings: Settings) -> None:
    """The upload is on disk already when it passes the cap."""
    intake = Intake(make_client(max_upload_bytes=3 * 2**20), database, settings)
    body = named(b"dataset", CANARY.encode() * 2**19)
    chunks = (body[start : start + 2**16] for start in range(0, len(body), 2**16))
    response = intake.client.post("/selections", content=chunks, headers=FORM)

    intake.assert_refused(response, Refusal("content-too-large", (), 413))


@pytest.mark.parametrize(
    "charset", ['"PUNYCODE"', "utf-7", "utf-8-sig", "latin-1", "x-no-such-codec", "utf-8; charset=rot13", ""]
)
def test_form_in_another_charset_is_refused(intake: Intake, charset: str) -> None:
    headers = {"Content-Type": f"multipart/form-data; boundary=edge; charset={charset}"}
    response = intake.client.post("/selections", content=GOOD_PARTS + EDGE, headers=headers)

    body = intake.assert_refused(response, UNREADABLE)
    assert "write the parts in UTF-8" in body["detail"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "us-ascii", "punycode; charset=utf-8"])
def test_form_in_utf8_is_read(intake: Intake, charset: str) -> None:
    spec = json.dumps(make_spec(name="prüfung"), ensure_ascii=False).encode()
    headers = {"Content-Type": f"multipart/form-data; boundary=edge; charset={charset}"}
    content = named(b"dataset", CSV) + plain(b"spec", spec) + b"--edge--"
    response = intake.client.post("/selections", content=content, headers=headers)

    assert response.status_code == 202, response.text
    assert response.json()["name"] == "prüfung"


@pytest.mark.parametrize(
    ("name", "pointers"), [(b"spec", ("/spec",)), (b"text_column", ("/text_column",)), (b"other", ("/other",))]
)
def test_part_that_is_not_utf8_is_refused_with_its_byte(intake: Intake, name: bytes, pointers: tuple[str, ...]) -> None:
    content = GOOD_PARTS + plain(name, b"pr\xfcfung") + b"--edge--"
    response = intake.client.post("/selections", content=content, headers=FORM)

    body = intake.assert_refused(response, Refusal("bad-request", pointers, 400))
    assert "is not UTF-8 (byte 2)" in body["detail"]

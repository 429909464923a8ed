"""Submissions that cannot be used: each refusal has its code and its place, repeats nothing and keeps nothing.

The rules of datasets, templates and options are tested beside the parser and the engine, those of specs in the table of
tests/unit/app/test_refused_specs.py. Here is a witness of each form of a pointer, through HTTP.
"""

import gzip
import json

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store.database import Database
from tests.integration.conftest import MakeClient
from tests.integration.refused_submissions import CANARY, GOOD_ROWS, Intake, Refusal
from tests.integration.samples import make_rows, make_spec, make_submission, pointers_of, problem_of
from tests.open_files import list_open_files
from tests.unit.lens_engine.files.dataset_uploads import to_mappings, write_csv

CSV = write_csv(GOOD_ROWS)


BAD_JSON: list[tuple[str, bytes, Refusal]] = [
    ("cut short", b'{"template": "canary-7f3a', Refusal("bad-request", ("/spec",), 400)),
    ("nested without end", b'{"options": ' + b"[" * 100_000, Refusal("bad-request", ("/spec",), 400)),
    ("not UTF-8", b'{"template": "\xff"}', Refusal("bad-request", ("/spec",), 400)),
    ("NUL", b'{"template": "\\u0000"}', Refusal("invalid-request", ("/spec/template",))),
    ("half a surrogate pair", b'{"verbalizer": {"a": "\\ud800"}}', Refusal("invalid-request", ("/spec/verbalizer/a",))),
]


@pytest.mark.parametrize(("spec", "expected"), [case[1:] for case in BAD_JSON], ids=[case[0] for case in BAD_JSON])
def test_json_that_is_no_spec_is_refused(intake: Intake, spec: bytes, expected: Refusal) -> None:
    """With an Idempotency-Key too: the spec is then read once before, for its digest."""
    parts = {"dataset": (f"{CANARY}.csv", CSV), "spec": (f"{CANARY}.json", spec)}
    for headers in ({}, {"Idempotency-Key": "6a1f8d3e"}):
        intake.assert_refused(intake.client.post("/selections", files=parts, headers=headers), expected)

    whole = b'{"examples": %b, "spec": %b}' % (json.dumps(to_mappings(GOOD_ROWS)).encode(), spec)
    response = intake.client.post("/selections", content=whole, headers={"Content-Type": "application/json"})
    problem_of(response, expected.status, expected.code)
    intake.assert_nothing_kept()


BAD_BODIES: list[tuple[str, object, str, list[str]]] = [
    ("a list", [], "invalid-request", []),
    ("no examples", {"spec": make_spec()}, "invalid-request", []),
    ("two sources of examples", {**make_submission(), "dataset_id": "ds_1"}, "invalid-request", []),
    ("field of the service", {**make_submission(), "attempt": CANARY}, "invalid-request", ["/attempt"]),
    ("columns of a stored dataset", {"spec": {}, "dataset_id": "ds_1", "text_column": "a"}, "invalid-request", []),
    ("no column", {**make_submission(), "text_column": []}, "invalid-request", ["/text_column"] * 2),
    ("no rows", {"spec": make_spec(), "examples": []}, "invalid-dataset", ["/examples"]),
    ("unknown dataset", {"spec": make_spec(), "dataset_id": "ds_1"}, "unknown-dataset", ["/dataset_id"]),
    ("unknown test rows", {**make_submission(), "test_dataset_id": "ds_1"}, "unknown-dataset", ["/test_dataset_id"]),
    (
        "bad rows",
        {
            "spec": make_spec(),
            "examples": [*make_rows(), {"text": "x" * 20_001, "label": "positive"}, {"text": "fine"}, *["text"] * 8],
        },
        "invalid-dataset",
        ["/examples/60/text", "/examples/61/label", *(f"/examples/{row}" for row in range(62, 70))],
    ),
    (
        "bad row of renamed columns",
        {
            "spec": make_spec(),
            "examples": [{"Body": "a", "Class": "mixed"}] * 60,
            "text_column": "Body",
            "label_column": "Class",
        },
        "invalid-dataset",
        ["/examples/0/Class", "/spec/verbalizer/positive", "/spec/verbalizer/negative"],
    ),
    (
        "a text that no store keeps",
        {"spec": make_spec(), "examples": [*make_rows(), {"text": f"{CANARY}\ud800", "label": "positive"}]},
        "invalid-request",
        ["/examples/60/text"],
    ),
]


@pytest.mark.parametrize(
    ("sent", "code", "pointers"), [case[1:] for case in BAD_BODIES], ids=[case[0] for case in BAD_BODIES]
)
def test_bad_body_is_refused_with_its_place(intake: Intake, sent: object, code: str, pointers: list[str]) -> None:
    response = intake.send_json(sent)
    body = problem_of(response, 422, code)
    assert not pointers or pointers_of(body) == pointers
    assert CANARY not in response.text
    intake.assert_nothing_kept()


# What, the dataset, the test rows, the refusal.
BAD_FILES: list[tuple[str, bytes, bytes | None, Refusal]] = [
    ("empty", b"", None, Refusal("dataset-empty", ("/dataset",))),
    (
        "ragged row",
        CSV + b"".join(b"some, words, and canary-7f3a-%d\n" % number for number in range(10)),
        None,
        Refusal("invalid-dataset", tuple(f"/dataset/rows/{row}" for row in range(60, 70))),
    ),
    ("gzip", gzip.compress(CSV), None, Refusal("unsupported-media-type", ("/dataset",), 415)),
    ("empty test file", CSV, b"", Refusal("dataset-empty", ("/test",))),
    (
        "bad rows of both files",
        write_csv([*GOOD_ROWS, *[("\0", "positive")] * 10]),
        write_csv([*GOOD_ROWS, *[("\0", "positive")] * 10]),
        Refusal(
            "invalid-dataset",
            tuple(f"/{part}/rows/{row}/text" for part in ("dataset", "test") for row in range(60, 70)),
        ),
    ),
]


@pytest.mark.parametrize(
    ("dataset", "test", "expected"), [case[1:] for case in BAD_FILES], ids=[case[0] for case in BAD_FILES]
)
def test_bad_file_is_refused_with_its_place(
    intake: Intake, dataset: bytes, test: bytes | None, expected: Refusal
) -> None:
    intake.assert_refused(intake.send_file(dataset, test), expected)


@pytest.mark.parametrize(
    ("written_as", "pointer"), [("csv", "/dataset"), ("jsonl", "/dataset"), ("inline", "/examples")]
)
def test_rows_over_the_cap_are_refused(
    make_client: MakeClient, database: Database, settings: Settings, written_as: str, pointer: str
) -> None:
    intake = Intake(make_client(max_rows=59), database, settings)

    intake.assert_refused(intake.send_rows(GOOD_ROWS, written_as), Refusal("dataset-too-large", (pointer,), 413))


@pytest.mark.parametrize(
    ("wrong", "dataset", "test", "place"),
    [
        ("test_examples", "dataset_id", "test_examples", "/test_examples/0/Label"),
        ("test_dataset_id", "examples", "test_dataset_id", "/test/rows/0/label"),
        ("dataset_id", "dataset_id", "test_examples", "/dataset/rows/0/label"),
        ("examples", "examples", "test_dataset_id", "/examples/0/Label"),
    ],
)
def test_place_of_a_row_is_in_its_own_part(client: TestClient, wrong: str, dataset: str, test: str, place: str) -> None:
    def give(part: str) -> object:
        rows = [{"text": f"{row['text']} of {part}", "label": row["label"]} for row in make_rows()]
        rows[0]["label"] = "mixed" if part == wrong else rows[0]["label"]
        if not part.endswith("_id"):
            return [{"text": row["text"], "Label": row["label"]} for row in rows]
        return client.post("/datasets", json={"examples": rows}).json()["id"]

    sent = {"spec": make_spec(), dataset: give(dataset), test: give(test)}
    assert pointers_of(problem_of(client.post("/selections", json=sent), 422, "invalid-dataset")) == [place]


def list_deleted_open_files() -> set[str]:
    """Where spooled uploads live: files without a name."""
    return {target for target in list_open_files() if target.endswith("(deleted)")}


def test_refused_file_too_big_for_memory_leaves_no_file_open(intake: Intake) -> None:
    before = list_deleted_open_files()
    content = CSV + b'"open,positive' + b"\nand more words" * 220_000
    intake.assert_refused(intake.send_file(content), Refusal("dataset-too-large", ("/dataset",), 413))

    assert list_deleted_open_files() <= before

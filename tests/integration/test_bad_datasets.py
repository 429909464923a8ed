"""Every kind of unusable dataset, over HTTP: refused with its place, repeated nowhere, kept nowhere.

The rules of each format are tested row by row beside the parser; here is one witness of each, end to end.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.database import Database
from app.models import Dataset, Example
from app.settings import Settings
from tests.integration.refused_submissions import CANARY, GOOD_ROWS, NUM_GOOD, Intake, Refusal, pointer_to
from tests.integration.samples import SMALL_OPTIONS, make_spec
from tests.open_files import list_open_files
from tests.unit.lens_engine.reading.dataset_uploads import Row, write_csv, write_jsonl

TEXTS = [text for text, _ in GOOD_ROWS]
LABELS = [label for _, label in GOOD_ROWS]
CSV, JSONL = write_csv(GOOD_ROWS), write_jsonl(GOOD_ROWS)
BARE_CSV = b"\n".join([b"text,label", *(f"{text},{label}".encode() for text, label in GOOD_ROWS)])


@pytest.fixture
def intake(client: TestClient, database: Database, settings: Settings) -> Intake:
    return Intake(client, database, settings)


# What, the row that follows 60 good ones, the column to blame, the formats it is tried in.
BAD_ROWS: list[tuple[str, Row, str, str]] = [
    ("blank text", (" \t", "positive"), "text", "jsonl"),
    ("text of invisible characters", ("\u200b\u2066", "positive"), "text", "csv inline"),
    ("no text", (None, "positive"), "text", "jsonl inline"),
    ("blank label", (CANARY, "  "), "label", "csv jsonl"),
    ("no label", (CANARY, None), "label", "jsonl inline"),
    ("NUL in the text", (f"{CANARY}\x00", "positive"), "text", "csv jsonl"),
    ("NUL in the label", (CANARY, "posi\x00tive"), "label", "csv"),
    ("half a surrogate pair", (f"{CANARY}\ud800", "positive"), "text", "jsonl"),
    ("31 accents on a letter of the text", (f"{CANARY}" + "\u0301" * 31, "positive"), "text", "csv jsonl inline"),
    ("31 accents on a letter of the label", (CANARY, "positive" + "\u0301" * 31), "label", "csv inline"),
    ("text too long", (CANARY * 2_000, "positive"), "text", "csv inline"),
    ("label too long", (CANARY, "x" * 201), "label", "jsonl inline"),
    ("label without a label word", (CANARY, "mixed"), "label", "csv"),
]


@pytest.mark.parametrize(
    ("row", "column", "written_as"),
    [
        pytest.param(row, column, written_as, id=f"{name}-{written_as}")
        for name, row, column, formats in BAD_ROWS
        for written_as in formats.split()
    ],
)
def test_bad_row_is_refused_with_its_number_and_column(intake: Intake, row: Row, column: str, written_as: str) -> None:
    response = intake.send_rows([*GOOD_ROWS, row], written_as)

    intake.assert_refused(response, Refusal("invalid-dataset", (pointer_to(written_as, column),)))


BAD_LINES: list[tuple[str, bytes, str | None]] = [
    ("NaN", b'{"text": "canary-7f3a", "label": NaN}', None),
    ("the same key twice", b'{"text": "canary-7f3a", "text": "b", "label": "positive"}', None),
    ("5,000 digits", b'{"text": "canary-7f3a", "label": %b}' % (b"9" * 5_000), None),
    ("nested 100,000 deep", b'{"text": %b' % (b"[" * 100_000), None),
    ("a list", b'["canary-7f3a", "positive"]', None),
    ("cut short", b'{"text": "canary-7f3a", "lab', None),
    ("Latin-1", b'{"text": "canary-7f3a caf\xe9", "label": "positive"}', None),
    ("label true", b'{"text": "canary-7f3a", "label": true}', "label"),
    ("text a number", b'{"text": 7, "label": "positive"}', "text"),
    ("no key label", b'{"text": "canary-7f3a"}', "label"),
]


@pytest.mark.parametrize(("line", "column"), [case[1:] for case in BAD_LINES], ids=[case[0] for case in BAD_LINES])
def test_line_that_is_no_example_is_refused_with_its_row(intake: Intake, line: bytes, column: str | None) -> None:
    response = intake.send_file(JSONL + line)

    intake.assert_refused(response, Refusal("invalid-dataset", (pointer_to("jsonl", column),)))


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{CANARY}.csv", content)
    return file.getvalue()


EMPTY = Refusal("dataset-empty", ("/dataset",))
ODD = Refusal("invalid-dataset", ("/dataset",))
ODD_TEXT = Refusal("invalid-dataset", ("/dataset/text",))
ODD_LABEL = Refusal("invalid-dataset", ("/dataset/label",))
BAD_ROW = Refusal("invalid-dataset", (pointer_to("csv", None),))
TOO_RARE = Refusal("class-too-small", ("/dataset/label",))
BOTH_TOO_RARE = Refusal("class-too-small", ("/dataset/label", "/dataset/label"))
UNHEARD = Refusal("invalid-verbalizer", ("/spec/verbalizer/negative",))
FOREIGN = Refusal("unsupported-media-type", ("/dataset",), 415)

BAD_FILES: list[tuple[str, Callable[[], bytes], Refusal]] = [
    ("CSV of blank rows", lambda: b"text,label\n\n , \n,\n", EMPTY),
    ("JSONL of one row", lambda: write_jsonl(GOOD_ROWS[:1]), EMPTY),
    ("JSONL of blank rows", lambda: write_jsonl([("", ""), (None, None)]), EMPTY),
    ("no text column", lambda: BARE_CSV.replace(b"text", b"review", 1), ODD_TEXT),
    ("text column in capitals", lambda: BARE_CSV.replace(b"text", b"TEXT", 1), ODD_TEXT),
    ("label column twice", lambda: b"text,label,label\ncanary-7f3a,positive,negative\n", ODD_LABEL),
    ("semicolons", lambda: BARE_CSV.replace(b",", b";"), ODD_TEXT),
    ("tabs", lambda: BARE_CSV.replace(b",", b"\t"), ODD_TEXT),
    ("ragged row", lambda: BARE_CSV + b"\ncanary-7f3a, and more,positive", BAD_ROW),
    ("quote left open", lambda: BARE_CSV + b'\n"canary-7f3a,positive\nmore,negative', BAD_ROW),
    ("quote amid a field", lambda: BARE_CSV + b'\n"canary-7f3a"s,positive', BAD_ROW),
    ("very long cell", lambda: BARE_CSV + b"\n" + b"canary-7f3a" * 20_000 + b",positive", BAD_ROW),
    ("CSV in UTF-16", lambda: CSV.decode().encode("utf-16"), ODD),
    ("JSONL in UTF-16", lambda: JSONL.decode().encode("utf-16"), ODD),
    ("CSV in Latin-1", lambda: BARE_CSV + "\ncanary-7f3a café,positive".encode("latin-1"), ODD),
    ("gzip", lambda: gzip.compress(CSV), FOREIGN),
    ("Parquet", lambda: b"PAR1" + bytes(99) + b"PAR1", FOREIGN),
    ("zip in a zip", lambda: zipped(zipped(CSV)), FOREIGN),
    ("JSON array", lambda: b"[" + JSONL.replace(b"}\n{", b"},\n{") + b"]", FOREIGN),
    (
        "more labels than allowed",
        lambda: write_csv([(CANARY, f"label {number}") for number in range(300)]),
        Refusal("invalid-dataset", ("/dataset/rows/200/label",)),
    ),
    ("one label only", lambda: write_csv([row for row in GOOD_ROWS if row[1] == "positive"]), UNHEARD),
    (
        "a label of one row",
        lambda: write_jsonl([row for row in GOOD_ROWS if row[1] == "positive"] + GOOD_ROWS[-1:]),
        TOO_RARE,
    ),
    (
        "every text with both labels",
        lambda: write_csv([(text, label) for text in TEXTS for label in ("positive", "negative")]),
        BOTH_TOO_RARE,
    ),
    (
        "one text over and over",
        lambda: write_csv([(CANARY, "positive")] * 50 + [("b", "negative")] * 50),
        BOTH_TOO_RARE,
    ),
]


@pytest.mark.parametrize(("build", "expected"), [case[1:] for case in BAD_FILES], ids=[case[0] for case in BAD_FILES])
def test_bad_file_is_refused_with_its_place(intake: Intake, build: Callable[[], bytes], expected: Refusal) -> None:
    intake.assert_refused(intake.send_file(build()), expected)


BAD_TEST_FILES: list[tuple[str, bytes, Refusal]] = [
    ("empty", b"", Refusal("dataset-empty", ("/test",))),
    ("NUL", b"text,label\ncanary-7f3a,positive\n\x00,negative", Refusal("invalid-dataset", ("/test/rows/1/text",))),
    ("no label column", b"text\ncanary-7f3a\n", Refusal("invalid-dataset", ("/test/label",))),
    ("one label only", write_csv([("a", "positive")] * 9), Refusal("class-too-small", ("/test/label",))),
    ("zip", zipped(CSV), Refusal("unsupported-media-type", ("/test",), 415)),
]


@pytest.mark.parametrize(
    ("test", "expected"), [case[1:] for case in BAD_TEST_FILES], ids=[case[0] for case in BAD_TEST_FILES]
)
def test_bad_test_file_is_refused_with_its_place(intake: Intake, test: bytes, expected: Refusal) -> None:
    intake.assert_refused(intake.send_file(CSV, test), expected)


@pytest.mark.parametrize("unstorable", ["\x00", "\ud800"], ids=["NUL", "half a surrogate pair"])
def test_inline_text_that_no_store_keeps_is_refused(intake: Intake, unstorable: str) -> None:
    response = intake.send_rows([*GOOD_ROWS, (f"{CANARY}{unstorable}", "positive")], "inline")

    intake.assert_refused(response, Refusal("invalid-request", (pointer_to("inline", "text"),)))


TOO_LARGE: list[tuple[str, dict[str, int], Callable[[], bytes]]] = [
    ("rows of JSONL", {"max_rows": 59}, lambda: JSONL),
    ("lines that are blank", {"max_rows": 100}, lambda: BARE_CSV + b"\n" * 200),
]


@pytest.mark.parametrize(("caps", "build"), [case[1:] for case in TOO_LARGE], ids=[case[0] for case in TOO_LARGE])
def test_dataset_over_a_cap_is_refused(
    make_client: Callable[..., TestClient],
    database: Database,
    settings: Settings,
    caps: dict[str, int],
    build: Callable[[], bytes],
) -> None:
    intake = Intake(make_client(**caps), database, settings)

    intake.assert_refused(intake.send_file(build()), Refusal("dataset-too-large", ("/dataset",), 413))


def test_inline_rows_over_the_cap_are_refused(
    make_client: Callable[..., TestClient], database: Database, settings: Settings
) -> None:
    intake = Intake(make_client(max_rows=59), database, settings)

    intake.assert_refused(intake.send_rows(GOOD_ROWS, "inline"), Refusal("dataset-too-large", ("/examples",), 413))


def list_deleted_open_files() -> set[str]:
    """Where spooled uploads live: files without a name."""
    return {target for target in list_open_files() if target.endswith("(deleted)")}


def test_refused_file_too_big_for_memory_leaves_no_file_open(intake: Intake) -> None:
    before = list_deleted_open_files()
    content = CSV + b'"open,positive' + b"\n" * 3 * 2**20
    intake.assert_refused(intake.send_file(content), Refusal("invalid-dataset", (pointer_to("csv", None),)))

    assert list_deleted_open_files() <= before


HARMLESS: list[Row] = [
    ("=cmd|'/c calc'!A0", "positive"),
    ("+1", "negative"),
    ("-1", "positive"),
    ("@SUM(A1)", "negative"),
    ("\tx", "positive"),
    ("\rx", "negative"),
    ("NA", "positive"),
    ("null", "negative"),
    (" 01 ", "positive"),
    ("{label} {{ {text!r}", "negative"),
    ("\u202eright to left", "positive"),
    ("zero\u200bwidth", "negative"),
]


@pytest.mark.parametrize("written_as", ["csv", "jsonl", "inline"])
def test_odd_text_that_does_no_harm_is_stored_as_sent(intake: Intake, database: Database, written_as: str) -> None:
    response = intake.send_rows([*GOOD_ROWS, *HARMLESS], written_as)

    assert response.status_code == 202, response.text
    with database.session_scope() as session:
        query = select(Example.text, Example.label).where(Example.row >= NUM_GOOD).order_by(Example.row)
        assert [tuple(row) for row in session.execute(query)] == HARMLESS


def test_labels_that_look_like_numbers_and_nulls_stay_strings(intake: Intake, database: Database) -> None:
    words = {"positive": "01", "negative": "NA"}
    rows: list[Row] = [(text, words[label or ""]) for text, label in GOOD_ROWS]
    response = intake.send_rows(rows, "csv", verbalizer={"01": "great", "NA": "bad"})

    assert response.status_code == 202, response.text
    with database.session_scope() as session:
        assert session.scalars(select(Dataset.label_counts)).one() == {"01": 30, "NA": 30}


def test_mark_and_mixed_line_ends_of_a_spreadsheet_are_taken(intake: Intake, database: Database) -> None:
    lines = BARE_CSV.split(b"\n")
    content = b"\xef\xbb\xbf" + b"\r\n".join(lines[:20]) + b"\r" + b"\n".join(lines[20:])

    assert intake.send_file(content).status_code == 202
    with database.session_scope() as session:
        assert session.scalars(select(Example.text).order_by(Example.row)).all() == TEXTS


def test_spellings_of_a_label_are_joined_with_a_warning(intake: Intake, database: Database) -> None:
    rows: list[Row] = [
        (text, f" {label or ''}".upper() if place < 6 else label) for place, (text, label) in enumerate(GOOD_ROWS)
    ]

    response = intake.send_rows(rows, "csv")

    assert response.status_code == 202, response.text
    (told,) = [warning for warning in response.json()["warnings"] if "another spelling" in warning]
    assert "' POSITIVE' (3) as 'positive'; ' NEGATIVE' (3) as 'negative'" in told
    with database.session_scope() as session:
        assert session.scalars(select(Dataset.label_counts)).one()[" POSITIVE"] == 3


def test_spellings_are_kept_apart_where_the_option_says_so(intake: Intake) -> None:
    words = {"positive": "caf\u00e9", "negative": "cafe\u0301"}
    rows: list[Row] = [(text, words[label or ""]) for text, label in GOOD_ROWS]
    verbalizer = {words["positive"]: "great", words["negative"]: "bad"}

    refused = intake.send_rows(rows, "jsonl", verbalizer=verbalizer)
    intake.assert_refused(refused, Refusal("invalid-verbalizer", (f"/spec/verbalizer/{words['negative']}",)))
    options = {**SMALL_OPTIONS, "labels": {"join_spellings": False}}
    assert intake.send_rows(rows, "jsonl", verbalizer=verbalizer, options=options).status_code == 202


def test_rare_label_is_left_out_where_the_options_say_so(intake: Intake) -> None:
    rows: list[Row] = [*GOOD_ROWS, ("so so", "mixed")]
    verbalizer = {"positive": "great", "mixed": "fair", "negative": "bad"}

    options = {**SMALL_OPTIONS, "num_demonstrations": 3, "filtering": {"initial_score_size": 8, "keep": 6}}
    refused = intake.send_rows(rows, "csv", verbalizer=verbalizer, options=options)
    assert "label 'mixed' has 1 row; the minimum is" in refused.json()["detail"]
    options["labels"] = {"rare": "drop"}
    response = intake.send_rows(rows, "csv", verbalizer=verbalizer, options=options)

    assert response.status_code == 202, response.text
    told = "the label 'mixed' was dropped: only 1 row"
    assert told in response.json()["warnings"]


def test_bad_rows_of_both_files_are_in_one_answer(intake: Intake) -> None:
    bad = write_csv([*GOOD_ROWS, ("", "positive")])

    body = intake.assert_refused(
        intake.send_file(bad, bad),
        Refusal("invalid-dataset", (pointer_to("csv", "text"), f"/test/rows/{NUM_GOOD}/text")),
    )
    assert body["detail"].startswith("2 faults; the first: row 60")


@pytest.mark.parametrize("name", ["data.csv", "..", "../../data.gz"])
def test_content_and_not_the_name_decides_the_format(intake: Intake, database: Database, name: str) -> None:
    parts = {"dataset": (name, JSONL), "spec": ("spec.xlsx", json.dumps(make_spec()).encode())}

    assert intake.client.post("/selections", files=parts).status_code == 202
    with database.session_scope() as session:
        assert session.scalars(select(Dataset.format)).all() == ["jsonl"]

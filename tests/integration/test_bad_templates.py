"""Templates, label words and models that cannot be used, in both forms of a submission.

`test_submit_selection.py` has each refusal of a JSON spec; here is what it says, and the same in a form.
"""

import json
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.database import Database
from app.models import Selection
from app.settings import Settings
from tests.integration.refused_submissions import CANARY, GOOD_ROWS, Intake, Refusal
from tests.integration.samples import make_spec
from tests.unit.lens_engine.reading.dataset_uploads import Row, write_csv

CSV = write_csv(GOOD_ROWS)
WORDS = {"positive": "great", "negative": "terrible"}


@pytest.fixture
def intake(client: TestClient, database: Database, settings: Settings) -> Intake:
    return Intake(client, database, settings)


TEMPLATES: list[tuple[str, str, str]] = [
    ("text twice", "{text} and {text}: {label}", "position 11"),
    ("unknown slot", "{text} {sentiment} {label}", "position 7"),
    ("slot without a name", "{text} {} {label}", "position 7"),
    ("attribute", "{text.__class__.__mro__} {label}", "position 0"),
    ("index", "ab {text[0]} {label}", "position 3"),
    ("conversion", "{{}} {text!r} {label}", "position 5"),
    ("format of a gigabyte", "{text:>999999999} {label}", "position 0"),
    ("slot within a slot", "{text:{label}}", "position 0"),
    ("open brace", "{text} {label", "near position"),
    ("single brace", "{text} } {label}", "near position"),
    ("Jinja", "{% if text %}{{ text }}{% endif %} {label}", "position 0"),
    ("empty", "", "no {text} slot"),
]


@pytest.mark.parametrize(("template", "said"), [case[1:] for case in TEMPLATES], ids=[case[0] for case in TEMPLATES])
def test_bad_template_is_refused_with_the_position(intake: Intake, template: str, said: str) -> None:
    response = intake.send_file(CSV, template=template)

    body = intake.assert_refused(response, Refusal("invalid-template", ("/spec/template",)))
    assert said in body["errors"][0]["detail"]


VERBALIZERS: list[tuple[str, dict[str, Any], str, tuple[str, ...], str]] = [
    ("empty word", {**WORDS, "negative": ""}, "invalid-verbalizer", ("/spec/verbalizer/negative",), "'negative'"),
    (
        "words that differ in Unicode form only",
        {"positive": "caf\u00e9", "negative": "cafe\u0301"},
        "invalid-verbalizer",
        ("/spec/verbalizer/negative",),
        "'positive' and 'negative'",
    ),
    (
        "Hangul in two Unicode forms",
        {"positive": "\uac00", "negative": "\u1100\u1161"},
        "invalid-verbalizer",
        ("/spec/verbalizer/negative",),
        "'positive' and 'negative'",
    ),
    ("no words", {}, "invalid-verbalizer", ("/spec/verbalizer",), "two labels"),
    ("word that is null", {**WORDS, "negative": None}, "invalid-request", ("/spec/verbalizer/negative",), "string"),
    (
        "one label for another",
        {"positive": "great", "mixed": "so so"},
        "invalid-dataset",
        ("/dataset/rows/3/label", "/spec/verbalizer/mixed"),
        "'negative'",
    ),
    ("one label too many", {**WORDS, "a/b": "so so"}, "invalid-verbalizer", ("/spec/verbalizer/a~1b",), "'a/b'"),
    (
        "label in another case",
        {"Positive": "great", "negative": "terrible"},
        "invalid-dataset",
        ("/dataset/rows/0/label",),
        "'positive'",
    ),
]


@pytest.mark.parametrize(
    ("verbalizer", "code", "pointers", "said"),
    [case[1:] for case in VERBALIZERS],
    ids=[case[0] for case in VERBALIZERS],
)
def test_bad_label_words_are_refused_with_the_label(
    intake: Intake, verbalizer: dict[str, Any], code: str, pointers: tuple[str, ...], said: str
) -> None:
    body = intake.assert_refused(intake.send_file(CSV, verbalizer=verbalizer), Refusal(code, pointers))

    assert said in body["errors"][0]["detail"]


def test_label_in_another_unicode_form_is_refused_as_such(intake: Intake) -> None:
    words = {"positive": "caf\u00e9", "negative": "no"}
    rows: list[Row] = [(text, words[label or ""]) for text, label in GOOD_ROWS]
    response = intake.send_rows(rows, "inline", verbalizer={"cafe\u0301": "great", "no": "bad"})

    intake.assert_refused(response, Refusal("invalid-dataset", ("/examples/0/label",)))


@pytest.mark.parametrize(
    "words",
    [("great", "greatly"), ("a", "aa"), ("\U0001f600", "\U0001f601"), ("好", "好的"), ("Great", "great")],
    ids=["prefix", "repeated", "emoji", "Chinese", "case"],
)
def test_label_words_that_begin_alike_are_taken(intake: Intake, database: Database, words: tuple[str, str]) -> None:
    response = intake.send_file(CSV, verbalizer=dict(zip(WORDS, words, strict=True)))

    assert response.status_code == 202, response.text
    with database.session_scope() as session:
        assert [word for _, word in session.scalars(select(Selection.spec)).one()["verbalizer"]] == list(words)


MODELS: list[tuple[str, Any, str]] = [
    ("path upwards", "../../etc", "unknown-model"),
    ("absolute path", "/abs", "unknown-model"),
    ("address of a file", "file://x", "unknown-model"),
    ("package of this service", "app", "unknown-model"),
    ("hub id", "openai-community/gpt2", "unknown-model"),
    ("testing model", "testing:os:system", "unknown-model"),
    ("another case", "SmolLM2-135M-Instruct", "unknown-model"),
    ("line break after it", "smollm2-135m-instruct\n", "unknown-model"),
    ("NUL", "app\x00", "invalid-request"),
    ("10 kB", CANARY * 1_000, "invalid-request"),
]


@pytest.mark.parametrize(("model", "code"), [case[1:] for case in MODELS], ids=[case[0] for case in MODELS])
def test_model_that_is_not_offered_is_refused(intake: Intake, model: object, code: str) -> None:
    response = intake.send_file(CSV, model=model)

    body = intake.assert_refused(response, Refusal(code, ("/spec/model",)))
    assert ("smollm2-135m-instruct" in body["detail"]) == (code == "unknown-model")


SPECS: list[tuple[str, bytes, Refusal]] = [
    ("empty", b"", Refusal("bad-request", ("/spec",), 400)),
    ("cut short", b'{"template": "canary-7f3a', Refusal("bad-request", ("/spec",), 400)),
    ("NaN", b'{"options": {"seed": NaN}}', Refusal("bad-request", ("/spec",), 400)),
    ("minus infinity", b'{"options": {"seed": -Infinity}}', Refusal("bad-request", ("/spec",), 400)),
    ("5,000 digits", b'{"options": {"seed": %b}}' % (b"9" * 5_000), Refusal("bad-request", ("/spec",), 400)),
    ("nested without end", b'{"options": ' + b"[" * 100_000, Refusal("bad-request", ("/spec",), 400)),
    ("the same name twice", b'{"template": "a", "template": "b"}', Refusal("bad-request", ("/spec",), 400)),
    ("not UTF-8", b'{"template": "\xff"}', Refusal("bad-request", ("/spec",), 400)),
    ("NUL", b'{"template": "\\u0000"}', Refusal("invalid-request", ("/spec/template",))),
    ("half a surrogate pair", b'{"verbalizer": {"a": "\\ud800"}}', Refusal("invalid-request", ("/spec/verbalizer/a",))),
    ("a list", b"[]", Refusal("invalid-request", ("/spec",))),
    ("null", b"null", Refusal("invalid-request", ("/spec",))),
]


@pytest.mark.parametrize(("spec", "expected"), [case[1:] for case in SPECS], ids=[case[0] for case in SPECS])
def test_spec_part_that_is_no_spec_is_refused(intake: Intake, spec: bytes, expected: Refusal) -> None:
    """With an Idempotency-Key too: the spec is then read once before, for its digest."""
    parts = {"dataset": (f"{CANARY}.csv", CSV), "spec": (f"{CANARY}.json", spec)}

    for headers in ({}, {"Idempotency-Key": "6a1f8d3e"}):
        intake.assert_refused(intake.client.post("/selections", files=parts, headers=headers), expected)


@pytest.mark.parametrize("field", ["status", "attempt", "dataset_sha256"])
def test_field_that_only_the_service_writes_is_refused(intake: Intake, field: str) -> None:
    inline = intake.send_json({"spec": make_spec(), "examples": [], field: CANARY})
    form = intake.client.post(
        "/selections", files={"dataset": CSV}, data={"spec": json.dumps(make_spec(**{field: CANARY}))}
    )

    intake.assert_refused(inline, Refusal("invalid-request", (f"/{field}",)))
    intake.assert_refused(form, Refusal("invalid-request", (f"/spec/{field}",)))


def test_every_wrong_option_is_refused_with_its_place(intake: Intake) -> None:
    options = {"beam_width": 3, "search": {"beam_widht": 3, "iterations": -1}}

    body = intake.assert_refused(
        intake.send_file(CSV, options=options),
        Refusal(
            "invalid-options",
            ("/spec/options/search/iterations", "/spec/options/search/beam_widht", "/spec/options/beam_width"),
        ),
    )

    assert [error["detail"] for error in body["errors"]] == [
        "search.iterations must be a whole number from 0 to 1,000; it is -1",
        "there is no option 'search.beam_widht'; did you mean search.beam_width?",
        "there is no option 'beam_width'; did you mean search.beam_width?",
    ]

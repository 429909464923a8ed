import pytest
from dataset_uploads import Uploads

from lens_engine.reading import InvalidDataset, ParsingLimits, parse_inline

GOOD = '{"text": "works «äöüß»", "label": "good"}\n{"text": "broke", "label": "bad"}\n'.encode()


def test_endless_other_keys_are_taken_and_ten_named(uploads: Uploads) -> None:
    lines = [b'{"text": "a", "label": "x", "key-%d": 0}\n' % number for number in range(500)]

    (warning,) = uploads.parse(b"".join(lines)).warnings

    assert warning.count("key-") == 10


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        (b'{"text": "a", "label": 1.5}', "label", "is a number"),
        (b'{"text": "a", "label": [[1, 2, "x"]]}', "label", "marks parts of the text, as for entities"),
        (b'{"text": true, "label": "x"}', "text", "is true or false, not a string; put it in quotes"),
        (b'{"text": "a", "label": [{"name": "x", "start": 1, "end": 2}]}', "label", "marks parts of the text"),
        (b'{"text": "a", "label": {"x": 1}}', "label", "is an object"),
        (b'{"text": "a", "label": %b}' % (b"9" * 201), "label", "200 characters"),
        (b'{"text": 1, "label": "x"}', "text", "is a number"),
        (b'{"label": "x"}', "text", "is missing; keys found: 'label'"),
        (b'{"text": "a", "Label": "x"}', "label", "keys found: 'text', 'Label'"),
        (b"{}", None, "keys found: none"),
        (b'{"text": "\\ud800", "label": "x"}', "text", "surrogate"),
        (b'{"text": "a", "label": "\\udc00"}', "label", "surrogate"),
        (b'{"text": NaN, "label": "x"}', "text", "is blank"),
        (b'{"text": "a", "label": NaN}', "label", "is empty"),
        (b'{"text": "a", "label": "x", "meta": {"k": 1, "k": 2}}', None, "has the key 'k' more than once"),
        (b'{"text": "a", "label": %b}' % (b"9" * 5_000), None, "more than 640 digits"),
        (b'{"text": "a", "label": "x", "deep": %b}' % (b"[" * 100_000 + b"]" * 100_000), None, "too deeply"),
        (b'["a", "x"]', None, "has no keys 'text', 'label'; keys found: 'column 1', 'column 2'"),
        (b'["a"]', None, "is not a JSON object"),
        (b"null", None, "is not a JSON object"),
        (b'{"text": "a", "label": "x"},', None, "is not valid JSON (Extra data at column 28, '…"),
        (b'{"text": "a", "label": "x"', None, "is not valid JSON"),
        (b'{"text": "a\tb", "label": "x"}', None, "is not valid JSON"),
        (b'\xef\xbb\xbf{"text": "a", "label": "x"}', None, "is not valid JSON"),
        (
            b'{"text": "caf\xe9", "label": "x"}',
            None,
            'is not UTF-8 at column 14, \'{"text": "caf\ufffd", "label": "x…\'; save',
        ),
        (b'{"text": "\xed\xa0\x80", "label": "x"}', None, "is not UTF-8"),
        (
            b'{"text": "%b", "label": "x"}' % (b" " * 2**20),
            None,
            "shorten it, or leave it out; if it is not so long, a line break is missing",
        ),
    ],
)
def test_bad_line_is_refused_with_row_and_line(uploads: Uploads, line: bytes, column: str | None, words: str) -> None:
    refusal = uploads.refuse(GOOD + b"\n" + line + b"\n")

    assert (refusal.row, refusal.field) == (2, f"dataset.{column}" if column else "dataset")
    assert str(refusal).startswith("line 4")
    assert words in str(refusal)


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"text": "a", "label": 0.5}, "examples.label"),
        ({"text": "a", "label": 10**700}, "examples.label"),
        ({"text": "a", "label": float("nan")}, "examples.label"),
        ({"text": "a", "label": b"x"}, "examples.label"),
        ({"text": "a\ud800", "label": "x"}, "examples.text"),
        ({"text": "a"}, "examples.label"),
        ("a", "examples"),
    ],
)
def test_bad_inline_example_is_refused_with_row(item: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        parse_inline([{"text": "a", "label": 1}, item], ParsingLimits())

    assert (refusal.value.row, refusal.value.field) == (1, field)


def test_all_missing_keys_of_a_line_are_in_one_refusal(uploads: Uploads) -> None:
    refusal = uploads.refuse(b'{"Texts": "a", "Labels": "x"}\n')

    assert str(refusal) == (
        "line 1 has no keys 'text', 'label'; keys found: 'Texts', 'Labels'; rename them, or name the keys to "
        "read (text_column, label_column)"
    )

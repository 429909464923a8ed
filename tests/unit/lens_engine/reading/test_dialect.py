"""Encodings and delimiters are found, and said."""

import csv
import io

import pytest
from dataset_uploads import Uploads

from lens_engine.errors import InvalidDataset
from lens_engine.reading import BadRows, Dialect, Named, ParsingLimits, parse_dataset
from lens_engine.reading.shapes.quoting import find_delimiter
from lens_engine.task.language import warn_of_language
from lens_engine.types import Example

ROWS = [("Das Zimmer war schön; groß, hell", "gut"), ("Zu laut, 3|4 Nächte", "schlecht"), ("Naja…", "gut")]


def write(delimiter: str, rows: list[tuple[str, str]] = ROWS) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([("text", "label"), *rows])
    return file.getvalue()


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("windows-1252", "the file is not UTF-8 and is read as Windows-1252"),
        ("utf-16", "the file is read as UTF-16"),
        ("utf-32", "the file is read as UTF-32"),
    ],
)
@pytest.mark.parametrize(("delimiter", "name"), [(",", None), (";", "semicolons"), ("\t", "tabs"), ("|", "pipes")])
def test_dialect_of_a_spreadsheet_is_found_and_said(
    uploads: Uploads, encoding: str, said: str | None, delimiter: str, name: str | None
) -> None:
    dataset = uploads.parse(write(delimiter).encode(encoding))

    assert [(one.text, one.label) for one in dataset.examples] == ROWS
    notes = [said, None if name is None else f"the columns are separated by {name}"]
    for warning, note in zip(dataset.warnings, filter(None, notes), strict=True):
        assert warning.startswith(note)
    assert dataset.dialect is not None
    assert dataset.dialect.delimiter == delimiter


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_jsonl_may_have_another_encoding(uploads: Uploads, encoding: str) -> None:
    content = '{"text": "schön", "label": "gut"}\n{"text": "laut", "label": "schlecht"}\n'

    assert [one.text for one in uploads.parse(content.encode(encoding)).examples] == ["schön", "laut"]


FOREIGN = {
    "windows-1251": ["очень хорошо, спасибо", "плохо, заказ не пришёл"],
    "shift_jis": ["とても良いです", "悪いと思います"],
    "gb18030": ["物流太慢了，客服没有回答", "非常满意"],
    "big5": ["這是測試用的句子，請看", "非常滿意"],
    "cp949": ["배송이 너무 느립니다", "아주 좋습니다"],
}


@pytest.mark.parametrize("encoding", FOREIGN)
def test_other_encoding_is_refused_with_its_name_until_it_is_named_or_usual(uploads: Uploads, encoding: str) -> None:
    rows = [(f"{FOREIGN[encoding][row % 2]} {row}", "ab"[row % 2]) for row in range(20)]
    content = write(",", rows).encode(encoding)

    assert f"name that (encoding: {encoding})" in str(uploads.refuse(content))
    dataset = parse_dataset(uploads.folder / "upload", ParsingLimits(), dialect=Dialect(encoding))
    assert [(one.text, one.label) for one in dataset.examples] == rows
    assert dataset.warnings == ()
    assert parse_dataset(uploads.folder / "upload", ParsingLimits(), usual=Dialect(encoding)).sha256 == dataset.sha256


def test_first_letter_outside_ascii_decides_however_far_it_stands(uploads: Uploads) -> None:
    rows = [(f"a message of nobody in particular, {row}", "ab"[row % 2]) for row in range(40_000)]
    rows += [(f"café {row}", "a") for row in range(9)]
    dataset = uploads.parse(write(";", rows).encode("windows-1252"))
    assert [(one.text, one.label) for one in dataset.examples] == rows
    assert dataset.warnings[0].startswith("the file is not UTF-8 and is read as Windows-1252")


class Counted(io.BufferedReader):
    """A file that counts what is read of it."""

    num_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.num_bytes += len(found)
        return found


@pytest.mark.parametrize("names", [("text", "label"), ("Bewertung", "sort"), ("Bewertung", "stars;label_text")])
@pytest.mark.parametrize("num_rows", [100, 50_000])
def test_file_is_read_twice_at_most(uploads: Uploads, names: tuple[str, str], num_rows: int) -> None:
    rows = [(f"Das Zimmer war schön und groß, aber die Küche nicht {row}", "ab"[row % 2]) for row in range(num_rows)]
    if names[1] == "stars;label_text":
        rows = [(text, "1;" + label if label == "a" else "2;" + label) for text, label in rows]
    content = write(";", rows).replace("text;label", ";".join(names)).replace('"', "").encode("windows-1252")
    (uploads.folder / "upload").write_bytes(content)
    with (uploads.folder / "upload").open("rb", buffering=0) as raw, Counted(raw) as file:
        assert len(parse_dataset(file, ParsingLimits()).examples) == num_rows
        assert file.num_bytes <= 2 * len(content) + 100


def test_one_bad_byte_in_a_file_of_utf8_is_a_bad_row_and_no_other_encoding(uploads: Uploads) -> None:
    content = write(",", ROWS * 9).encode()
    dataset = uploads.parse(content + b"caf\xe9,gut\n")
    refusal = uploads.refuse(content + b"caf\xe9,gut\n" * 4)

    assert len(dataset.examples) == 27
    assert dataset.warnings == ("1 row with bytes that are not UTF-8 left out (line 29)",)
    assert isinstance(refusal, BadRows)
    assert refusal.row == 27
    assert "`text` holds bytes that are not UTF-8 at 'caf\ufffd'" in str(refusal)


@pytest.mark.parametrize("content", [b"\xff\xfet\x00e", "text,label\nx".encode("utf-16")[:-1]])
def test_file_that_ends_within_a_character_is_refused(uploads: Uploads, content: bytes) -> None:
    assert "bytes that are not UTF-16" in str(uploads.refuse(content))


def test_named_encoding_and_delimiter_are_taken(uploads: Uploads) -> None:
    uploads.folder.joinpath("upload").write_bytes(b"text,a;label\nbad\xff;x\nb;y\n")
    dialect = Dialect("latin-1", ";")

    dataset = parse_dataset(uploads.folder / "upload", ParsingLimits(), columns=Named("text,a"), dialect=dialect)

    assert [one.text for one in dataset.examples] == ["badÿ", "b"]


@pytest.mark.parametrize("name", ["", "no-such", "base64", "unicode_escape", "utf-7", "idna", "a" * 10_000, "\0"])
def test_name_of_no_encoding_is_refused(name: str) -> None:
    with pytest.raises(InvalidDataset, match="is not an encoding") as refusal:
        Dialect(encoding=name)
    assert refusal.value.field == "encoding"


@pytest.mark.parametrize(("given", "taken"), [(";", ";"), ("\\t", "\t"), ("tab", "\t"), ("^", "^"), ("||", "||")])
def test_delimiter_may_be_a_word(given: str, taken: str) -> None:
    assert Dialect(delimiter=given).delimiter == taken


@pytest.mark.parametrize("given", ["", '"', "\n", "x", "7", "|a|"])
def test_character_that_cannot_separate_is_refused(given: str) -> None:
    with pytest.raises(InvalidDataset, match="is not a delimiter") as refusal:
        Dialect(delimiter=given)
    assert refusal.value.field == "delimiter"


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [
        ("text\na, b; c\n", ","),
        ("text;label\na, b;x\nc, d, e;y\n", ";"),
        ("text,label;note\na,x\nb,y\n", ","),
        ("text,long;label\na, b;x\nc;y\n", ";"),
        ('id\ttext\n1\t"a, b"\n', "\t"),
        ("", ","),
    ],
)
def test_delimiter_is_what_gives_rows_the_width_of_the_header(head: str, delimiter: str) -> None:
    assert find_delimiter(head.splitlines(keepends=True), ",") == delimiter


def test_a_tenth_of_the_rows_may_lack_text_or_label(uploads: Uploads) -> None:
    rows = [(f"text {row}", "x") for row in range(18)]
    gaps = [("unlabelled", ""), ("", "x")]

    dataset = uploads.parse_rows([*rows[:9], gaps[0], *rows[9:], gaps[1]], "csv")
    assert [one.row for one in dataset.examples] == [*range(9), *range(10, 19)]
    assert dataset.warnings == ("1 row without a label kept aside (line 11)", "1 row without a text left out (line 21)")
    refusal = uploads.refuse_rows([*rows, *gaps, gaps[0]], "csv")
    assert str(refusal).startswith("3 rows cannot be used; the first: line 20: `label` is empty")


def test_rows_left_out_are_named_up_to_ten(uploads: Uploads) -> None:
    rows = [(f"text {row}", "x" if row % 10 else "") for row in range(150)]

    (warning,) = uploads.parse_rows(rows, "jsonl").warnings

    assert warning == (
        "15 rows without a label kept aside (line 1, line 11, line 21, line 31, line 41, line 51, line 61, line 71, "
        "line 81, line 91 and 5 more)"
    )


def test_letters_of_another_script_beside_many_of_ascii_are_refused(uploads: Uploads) -> None:
    lines = [
        f'{{"id": "order-{row}", "channel": "email", "text": "отмена заказа", "label": "cancel_order"}}'
        for row in range(40)
    ]

    assert "neither UTF-8 nor in the Latin letters" in str(uploads.refuse("\n".join(lines).encode("cp1251")))


def test_encoding_that_needs_a_mark_is_refused_without_one(uploads: Uploads) -> None:
    uploads.folder.joinpath("upload").write_bytes(b"text,label\na,x\nb,y\n")

    with pytest.raises(InvalidDataset, match="bytes that are not UTF-16"):
        parse_dataset(uploads.folder / "upload", ParsingLimits(), dialect=Dialect("utf-16"))


def test_language_that_the_bundled_model_reads_badly_is_named() -> None:
    foreign = "Bonjour, je voudrais savoir quand ma commande sera livrée, merci de votre réponse rapide"
    english = "Hello, I would like to know when my order will be delivered, thank you for a quick reply"
    rows = [Example(row, f"{foreign} {row}", "x") for row in range(10)]
    warning = warn_of_language(rows)
    assert warning is not None
    assert warning.startswith("French, in 100% of the texts; the bundled model is English")
    assert warn_of_language([Example(row, f"{english} {row}", "x") for row in range(10)]) is None
    assert warn_of_language([*rows[:6], *(Example(row, english, "x") for row in range(4))]) is None

import csv
import io

import pytest
from dataset_uploads import Uploads

from lens_engine.errors import InvalidDataset
from lens_engine.files import Dialect, ParsingLimits, parse_dataset

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
def test_other_encoding_is_refused_until_it_is_named_or_usual(uploads: Uploads, encoding: str) -> None:
    rows = [(f"{FOREIGN[encoding][row % 2]} {row}", "ab"[row % 2]) for row in range(20)]
    content = write(",", rows).encode(encoding)
    assert "save it as UTF-8, or name its encoding" in str(uploads.refuse(content))
    dataset = parse_dataset(uploads.folder / "upload", ParsingLimits(), dialect=Dialect(encoding))
    assert [(one.text, one.label) for one in dataset.examples] == rows
    assert dataset.warnings == ()
    assert parse_dataset(uploads.folder / "upload", ParsingLimits(), usual=Dialect(encoding)).sha256 == dataset.sha256


def test_first_letter_outside_ascii_decides_however_far_it_stands(uploads: Uploads) -> None:
    rows = [(f"a message of nobody in particular, {row}", "ab"[row % 2]) for row in range(25_000)]
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


@pytest.mark.parametrize("names", [("text", "label"), ("Bewertung", "sort")])
@pytest.mark.parametrize("num_rows", [100, 20_000])
def test_file_is_read_twice_at_most(uploads: Uploads, names: tuple[str, str], num_rows: int) -> None:
    rows = [(f"Das Zimmer war schön und groß, aber die Küche nicht {row}", "ab"[row % 2]) for row in range(num_rows)]
    content = write(";", rows).replace("text;label", ";".join(names)).replace('"', "").encode("windows-1252")
    (uploads.folder / "upload").write_bytes(content)
    with (uploads.folder / "upload").open("rb", buffering=0) as raw, Counted(raw) as file:
        assert len(parse_dataset(file, ParsingLimits()).examples) == num_rows
        assert file.num_bytes <= 2 * len(content) + 100


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

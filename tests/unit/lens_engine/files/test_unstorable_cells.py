"""Characters that no store keeps, in files of texts to classify."""

import json
from pathlib import Path
from typing import Any

import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.files import Named, ParsingLimits, ReadTexts, parse_dataset, read_texts
from lens_engine.prompt.text_checks import replace_unstorable


def read(tmp_path: Path, content: bytes, column: str = "text") -> ReadTexts:
    path = tmp_path / "texts"
    path.write_bytes(content)
    return read_texts(path, ParsingLimits(), columns=Named(column))


def write_lines(*items: dict[str, Any]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def test_nul_in_another_column_is_replaced_with_a_warning(tmp_path: Path) -> None:
    found = read(tmp_path, b"text,note\na,x\nb,y\0z\nc,\0\n")
    assert [(row.text, row.fault) for row in found.rows] == [("a", None), ("b", None), ("c", None)]
    assert "\0" not in str([row.cells for row in found.rows])
    (warning,) = found.warnings
    assert warning.startswith("2 rows with NUL or half a surrogate pair in another column than 'text'; U+FFFD")
    assert warning.endswith("(line 3, line 4)")


def test_half_a_pair_in_a_key_or_list_of_a_cell_is_replaced(tmp_path: Path) -> None:
    found = read(tmp_path, write_lines({"text": "a", "note": {"k\0": ["\ud800", 1]}}, {"text": "b", "note": 1.5}))
    assert len(found.warnings) == 1
    assert "(line 1)" in found.warnings[0]


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_text_with_it_is_a_bad_row_that_can_be_stored(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, write_lines({"text": text}, {"text": "good"}))
    assert [row.fault is None for row in found.rows] == [False, True]
    assert found.rows[0].text == text[0] + "\ufffd" + text[2:]
    assert found.warnings == ()


@pytest.mark.parametrize("content", [b"text,no\0te\na,b\n", write_lines({"text": "a", "no\ud800te": "b"})])
def test_name_of_a_column_with_it_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidDataset, match=r"the column 'no\\.*te' has NUL or half a surrogate pair in its name"):
        read(tmp_path, content)


@pytest.mark.parametrize("cell", ["plain", "naïve", "🎬", "\ufffe", ["a", {"b": "ü"}], {"a": []}, 1, None])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert replace_unstorable(cell) is cell


def test_number_beyond_a_double_is_a_bad_row(tmp_path: Path) -> None:
    found = read(tmp_path, b'{"text": "a", "n": 1e999}\n{"text": "b", "n": 1e99}\n')
    assert "beyond the range of a double" in (found.rows[0].fault or "")
    assert found.rows[1].fault is None


@pytest.mark.parametrize("name", ["text\0", "text\ud800"])
def test_column_whose_name_cannot_be_stored_is_refused_by_it(tmp_path: Path, name: str) -> None:
    rows = [{name: f"some words {number}", "label": "ab"[number % 2]} for number in range(20)]
    (tmp_path / "upload").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InvalidDataset, match=r"the name of the column 'text.* rename the column"):
        parse_dataset(tmp_path / "upload", ParsingLimits())
    rows = [{"text": f"some words {number}", name: 1, "label": "ab"[number % 2]} for number in range(20)]
    (tmp_path / "upload").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = parse_dataset(tmp_path / "upload", ParsingLimits()).warnings
    assert replace_unstorable([*said]) == [*said]

from pathlib import Path

import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.reading import read_examples
from lens_engine.types import Example


def test_csv_is_read_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "reviews.txt"
    path.write_text('text,label\n"Sunny, and warm",good\nRainy,bad\n')

    examples = read_examples(path)

    assert examples == [Example(0, "Sunny, and warm", "good"), Example(1, "Rainy", "bad")]
    assert read_examples(str(path)) == examples


def test_columns_are_those_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("Body,Class,text\nSunny,good,x\nRainy,bad,y\n")

    examples = read_examples(path, text_column="Body", label_column="Class")

    assert examples == [Example(0, "Sunny", "good"), Example(1, "Rainy", "bad")]


@pytest.mark.parametrize("named", [None, "label", "LABEL", "column 2"])
def test_columns_are_found_in_another_case_or_by_their_place(tmp_path: Path, named: str | None) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("Text,LABEL\nSunny,good\nRainy,bad\n")

    assert [example.text for example in read_examples(path, label_column=named)] == ["Sunny", "Rainy"]
    with pytest.raises(InvalidDataset, match="no column named 'class'; columns found: 'Text', 'LABEL'"):
        read_examples(path, label_column="class")


def test_texts_of_several_columns_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "articles.csv"
    path.write_text("title,body,label\nSunny,All day,good\n,Rain,bad\n")

    examples = read_examples(path, text_column=("Title", "body"))

    assert [example.text for example in examples] == ["Sunny\nAll day", "Rain"]

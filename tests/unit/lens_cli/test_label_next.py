"""`lens label-next`: texts of a file to label next, as CSV."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lens_cli.application import create_application
from tests.integration.samples import make_bag_of_words

NEW = ["the gas bill is late", "=1+1 is late", "film 3", "the gas bill is late", ""]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.csv").write_text("\n".join(["text,label", *(f"film {row},{row % 2}" for row in range(60))]))
    with Path("new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *enumerate(NEW)])


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(create_application(), ["label-next", "new.csv", "--with", "train.csv", *words])
    return done.exit_code, " ".join(done.stderr.split())


def test_new_texts_are_written_with_an_empty_label_and_how_they_were_chosen() -> None:
    code, said = run("-n", "5", "-o", "next.csv")
    assert code == 0, said
    header, *lines = Path("next.csv").read_text("utf-8").splitlines()
    assert header == '"id","text","label","chosen_by"'
    assert sorted(lines) == [f'"0","{NEW[0]}","","spread"', '"1","\'=1+1 is late","","at random"']
    assert "only 2 texts are new and without a label" in said


@pytest.mark.parametrize(
    ("new", "train", "header"),
    [
        (
            "\ufeffTicket-Nr;Text;Kanal\n7;Fällig;Mail\n",
            "Text;Thema\n",
            '\ufeff"Ticket-Nr";"Text";"Kanal";"Thema";"chosen_by"',
        ),
        ("Text\tthema\nFällig\t\n", "Text\tThema\n", '"Text"\t"thema"\t"chosen_by"'),
        ("chosen_by,text\nme,Fällig\n", "text,kind\n", '"input_chosen_by","text","kind","chosen_by"'),
    ],
)
def test_file_keeps_its_columns_and_dialect_beside_the_label_column(new: str, train: str, header: str) -> None:
    Path("new.csv").write_text(new)
    mark = next(one for one in ";\t," if one in train)
    Path("train.csv").write_text(train + "".join(f"film {row}{mark}{row % 2}\n" for row in range(20)))
    code, said = run("-o", "next.csv")
    assert code == 0, said
    written = Path("next.csv").read_bytes().decode().splitlines()
    assert written[0] == header
    assert "Fällig" in written[1]


def test_rows_with_a_label_are_left_out_and_count_as_labelled() -> None:
    as_json = '{"text": "the gas bill is late", "label": null}\n{"text": "a film", "label": 0}\n'
    for new in ("text,Label\nthe gas bill is late,\na film,0\n", as_json):
        Path("new.csv").write_text(new)
        assert "1 row has a label already: not offered" in run("-o", "next.csv")[1]
        assert Path("next.csv").read_text("utf-8").splitlines()[1:] == ['"the gas bill is late","","spread"']


def test_classifier_of_words_is_asked_from_fifty_labels_on() -> None:
    make_bag_of_words().save("classifier.json")
    assert run("--classifier", "classifier.json")[0] == 0
    Path("classifier.json").write_text("{}")
    assert run("--classifier", "classifier.json")[0] != 0
    Path("train.csv").write_text("text,label\na film,0\nb film,1\n")
    code, said = run("--classifier", "classifier.json")
    assert code == 0
    assert "the classifier is not asked, because fewer than 50 rows are labelled" in said

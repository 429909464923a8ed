"""Every row gets a prediction or an error, in every format."""

import codecs
import json
from dataclasses import replace

import numpy as np
import pytest
from workbench import CLASSIFIER, Workbench, make_texts, read_output

from lens_cli.refusals import EXIT_INVALID, Refusal
from lens_engine.classifier.classifier import InputFormat
from lens_engine.errors import ModelMismatch
from lens_engine.evaluation.batches import Prediction
from lens_engine.evaluation.table import PredictedTable, write_table
from lens_engine.files import ParsingLimits, ReadTexts, read_inline_texts
from lens_engine.testing import TableScorer

FORMATS = ["csv", "jsonl"]


def read(*texts: str) -> ReadTexts:
    return read_inline_texts(texts, ParsingLimits.of_own_files())


@pytest.mark.parametrize("written_as", FORMATS)
def test_batches_give_the_predictions_of_the_classifier(written_as: str, bench: Workbench) -> None:
    texts = make_texts(600)
    paths = bench.paths(bench.write(texts, f"new.{written_as}"), "predictions.jsonl")

    bench.run(paths)

    expected = CLASSIFIER.predict(texts, TableScorer())
    rows = read_output(paths.output)
    assert [row["label"] for row in rows] == list(expected.labels)
    found = [list(row["probabilities"].values()) for row in rows]
    assert found == [pytest.approx(one, rel=1e-5) for one in expected.probabilities.tolist()]
    assert bench.scorers[0].calls == [(1, 256, 2), (1, 256, 2), (1, 88, 2)]


@pytest.mark.parametrize("written_as", FORMATS)
def test_output_has_a_row_for_each_text_in_order(written_as: str, bench: Workbench) -> None:
    texts = ['Sunny, "and"\r warm', "Rainy\nagain"]
    paths = bench.paths(bench.write(texts), f"predictions.{written_as}")

    bench.run(paths)

    rows = read_output(paths.output)
    expected = CLASSIFIER.predict(texts, TableScorer())
    shares = ["probabilities"] if written_as == "jsonl" else ["p_positive", "p_negative"]
    assert list(rows[0]) == ["text", "label", "probability", *shares, "error"]
    assert [row["text"] for row in rows] == texts
    assert [row["label"] for row in rows] == list(expected.labels)
    for row, probabilities in zip(rows, expected.probabilities.tolist(), strict=True):
        assert float(row["probability"]) == pytest.approx(max(probabilities), rel=1e-5)
        found = (
            row["probabilities"] if written_as == "jsonl" else {name: row[f"p_{name}"] for name in CLASSIFIER.labels}
        )
        assert [float(found[name]) for name in CLASSIFIER.labels] == pytest.approx(probabilities, rel=1e-5)
        assert row["error"] in (None, "")


def test_bad_rows_are_kept_and_named(bench: Workbench) -> None:
    texts = ["Sunny", "", "word " * 40, 3, "half \ud800 pair", "Rainy"]
    paths = bench.paths(bench.write(texts), "predictions.jsonl")

    with pytest.raises(Refusal) as caught:
        bench.run(paths, max_prompt_tokens=30)

    rows = read_output(paths.output)
    assert [row["label"] is None for row in rows] == [False, True, True, True, True, False]
    assert [row["probabilities"] is None for row in rows] == [False, True, True, True, True, False]
    assert "is blank" in rows[1]["error"]
    assert rows[2]["error"] == "the text is too long: a prompt exceeds the model's 30 tokens"
    assert "is a number, not a string" in rows[3]["error"]
    assert rows[4]["text"] == "half \ufffd pair"
    good = CLASSIFIER.predict(["Sunny", "Rainy"], TableScorer())
    assert [rows[0]["label"], rows[5]["label"]] == list(good.labels)
    assert caught.value.exit_code == EXIT_INVALID
    assert str(caught.value).startswith("4 of 6 rows could not be classified")
    assert [detail.split(":")[0] for detail in caught.value.details] == ["row 2", "row 3", "row 4", "row 5"]
    assert not paths.partial.exists()


def test_many_bad_rows_are_named_in_part(bench: Workbench) -> None:
    paths = bench.paths(bench.write(["Sunny", *[""] * 12]))
    with pytest.raises(Refusal, match="12 of 13 rows") as caught:
        bench.run(paths)
    assert [detail.split(":")[0] for detail in caught.value.details] == [
        *(f"row {row}" for row in range(2, 7)),
        "and 7 more",
    ]


def test_file_without_rows_gives_an_output_without_rows(bench: Workbench) -> None:
    for written_as in FORMATS:
        paths = bench.paths(bench.write([], "none.csv"), f"predictions.{written_as}")
        bench.run(paths)
        assert read_output(paths.output) == []
        assert not paths.partial.exists()


def test_another_model_is_refused_and_nothing_is_left(bench: Workbench) -> None:
    other = CLASSIFIER.model.model_copy(update={"revision": "1" * 64})
    CLASSIFIER.model_copy(update={"model": other}).save(bench.folder / "classifier.json")
    paths = bench.paths(bench.write(["Sunny"]))
    with pytest.raises(ModelMismatch):
        bench.run(paths)
    assert sorted(path.name for path in bench.folder.iterdir()) == ["classifier.json", "new.jsonl"]


@pytest.mark.parametrize("written_as", FORMATS)
def test_columns_of_the_input_are_kept(written_as: str, bench: Workbench) -> None:
    path = bench.folder / "new.csv"
    path.write_bytes("Nr;Kommentar;label\n7;schön;x\n8;laut;y\n".encode("windows-1252"))
    paths = bench.paths(path, f"predictions.{written_as}")

    shown = bench.run(paths, text_column=None)

    assert "read texts from 'Kommentar' (a usual name)" in shown
    assert "read as Windows-1252" in shown
    content = paths.output.read_bytes()
    if written_as == "csv":  # as a spreadsheet of the same place reads it
        assert content.startswith('\ufeff"Nr";"Kommentar";"input_label";"label"'.encode())
        paths.output.write_bytes(content.removeprefix(codecs.BOM_UTF8).replace(b";", b","))
    rows = read_output(paths.output)
    assert [(row["Nr"], row["Kommentar"], row["input_label"]) for row in rows] == [
        ("7", "schön", "x"),
        ("8", "laut", "y"),
    ]
    assert [row["label"] for row in rows] == list(CLASSIFIER.predict(["schön", "laut"], TableScorer()).labels)


def test_values_of_any_kind_are_kept(bench: Workbench) -> None:
    path = bench.folder / "new.jsonl"
    rows = [{"text": "Sunny", "id": 7, "tags": ["a"]}, {"text": "Rainy", "id": "x", "when": None}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for suffix in FORMATS:
        bench.run(bench.paths(path, f"predictions.{suffix}"))

    assert [row["id"] for row in read_output(bench.folder / "predictions.jsonl")] == [7, "x"]
    assert [row["tags"] for row in read_output(bench.folder / "predictions.csv")] == ['["a"]', ""]


def test_csv_runs_no_formula_of_the_input(bench: Workbench) -> None:
    path = bench.folder / "new.csv"
    path.write_text('text,@name,amount\n"=cmd|\' /C calc\'!A0",+1+cmd,-5.2\n"- dash","\tx",+4917\n')

    bench.run(bench.paths(path, "predictions.csv"))

    lines = (bench.folder / "predictions.csv").read_text().splitlines()
    assert lines[0].startswith('"text","\'@name","amount"')
    assert lines[1].startswith('"\'=cmd|\' /C calc\'!A0","\'+1+cmd","-5.2"')
    assert lines[2].startswith('"\'- dash","\'\tx","+4917"')
    bench.run(bench.paths(path, "predictions.jsonl"))
    assert read_output(bench.folder / "predictions.jsonl")[0]["text"] == "=cmd|' /C calc'!A0"


def test_files_are_written_piece_by_piece() -> None:
    texts = (f"{'x' * 3000} {number}" for number in range(1500))
    table = PredictedTable(("a",), read(*texts), [Prediction(label="a", probabilities=(1.0,))] * 1500)
    for written_as in ("csv", "jsonl"):
        pieces = list(write_table(table, written_as))
        assert max(map(len, pieces)) < 300_000
        assert b"".join(pieces).count(b"\n") == 1500 + (written_as == "csv")


@pytest.mark.parametrize("delimiter", [";", "||"])
def test_classifier_remembers_column_and_dialect_of_its_file(bench: Workbench, delimiter: str) -> None:
    known = InputFormat(text_column="Отзыв", delimiter=delimiter, encoding="windows-1251")
    CLASSIFIER.model_copy(update={"input": known}).save(bench.folder / "classifier.json")
    path = bench.folder / "new.csv"
    path.write_bytes("text;Отзыв\nx;хорошо\ny;плохо\n".replace(";", delimiter).encode("windows-1251"))

    bench.run(bench.paths(path, "predictions.jsonl"), text_column=None)

    rows = read_output(bench.folder / "predictions.jsonl")
    assert [row["Отзыв"] for row in rows] == ["хорошо", "плохо"]
    assert [row["label"] for row in rows] == list(CLASSIFIER.predict(["хорошо", "плохо"], TableScorer()).labels)
    bench.run(bench.paths(path, "predictions.csv"), text_column=None)
    written = (bench.folder / "predictions.csv").read_text("utf-8-sig").splitlines()
    assert written[0].startswith('"text";"Отзыв"' if delimiter == ";" else '"text","Отзыв"')


def test_cells_that_cannot_be_written_are_replaced(bench: Workbench) -> None:
    path = bench.folder / "new.jsonl"
    path.write_text(
        '{"text": "Sunny", "m": ["\\ud800"], "error": 1, "input_error": 2, "n": 123456789012345678901234567890}\n'
    )
    for suffix in FORMATS:
        bench.run(bench.paths(path, f"predictions.{suffix}"))
        (row,) = read_output(bench.folder / f"predictions.{suffix}")
        assert (str(row["input_error"]), str(row["input_input_error"])) == ("1", "2")


def test_cut_texts_are_counted(bench: Workbench) -> None:
    CLASSIFIER.model_copy(update={"most_tokens": 20}).save(bench.folder / "classifier.json")
    paths = bench.paths(bench.write(["Sunny", "word " * 40]))
    assert "note: 1 text was too long and cut, as in the report" in bench.run(paths, max_prompt_tokens=40)
    assert [row["error"] for row in read_output(paths.output)] == ["", ""]


@pytest.mark.parametrize("written_as", FORMATS)
def test_rows_below_the_threshold_have_no_label_and_are_marked(written_as: str, bench: Workbench) -> None:
    texts = [*make_texts(40), ""]
    paths = bench.paths(bench.write(texts), f"predictions.{written_as}")
    with pytest.raises(Refusal, match="1 of 41 rows could not be classified"):
        bench.run(paths)
    every = read_output(paths.output)
    probabilities = sorted(float(row["probability"]) for row in every[:40])
    least = probabilities[25]
    paths.output.unlink()

    with pytest.raises(Refusal):
        bench.run(paths, answer_above=least)

    rows = read_output(paths.output)
    kept = [float(row["probability"] or 0) >= least for row in rows]
    assert sum(kept) == 15
    shown = ["false", "true"] if written_as == "csv" else [False, True]
    assert [row["answered"] for row in rows] == [shown[is_kept] for is_kept in kept]
    assert [row["label"] or None for row in rows] == [
        row["label"] if is_kept else None for row, is_kept in zip(every, kept, strict=True)
    ]
    rest = [{name: cell for name, cell in row.items() if name not in ("label", "answered")} for row in rows]
    assert rest == [{name: cell for name, cell in row.items() if name != "label"} for row in every]


def test_how_many_rows_are_answered_is_said(bench: Workbench) -> None:
    told = bench.run(bench.paths(bench.write(make_texts(3))), answer_above=1.0)
    assert "0 rows are answered; 3 below 1 have no label and are left to a person" in told


def test_probability_counts_as_the_file_shows_it() -> None:
    nine_tenths = float(np.float32(0.9))  # below 0.9, and shown as 0.9
    prediction = Prediction(label="a", probabilities=(nine_tenths, 1.0 - nine_tenths))
    table = PredictedTable(("a", "b"), read("x"), [prediction], answer_above=0.9)
    assert nine_tenths < 0.9
    ((_, line),) = table.lines()
    assert dict(zip(table.added, line, strict=True)) == {
        "label": "a",
        "probability": 0.9,
        "p_a": 0.9,
        "p_b": 0.1,
        "answered": True,
        "error": None,
    }


def test_small_probabilities_and_flags_are_written_as_a_spreadsheet_reads_them() -> None:
    prediction = Prediction(label="a", probabilities=(0.99993853, 6.14631e-05, 1e-9))
    table = PredictedTable(("a", "b", "c"), read("x"), [prediction], answer_above=0.5)
    assert b"".join(write_table(table, "csv")).splitlines()[1] == (
        b'"x","a",0.999939,0.999939,0.000061,0.000000,"true",""'
    )
    assert json.loads(b"".join(write_table(table, "jsonl")))["probabilities"]["b"] == 6.14631e-05


def test_column_of_the_input_that_is_called_answered_is_renamed_where_there_is_another() -> None:
    texts = replace(read(), columns=("answered",))
    names = [PredictedTable(("a",), texts, [], answer_above=least).kept for least in (None, 0.5)]
    assert names == [["answered"], ["input_answered"]]

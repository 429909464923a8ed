"""`lens classify` refuses what cannot work before it loads a model."""

import pytest
from typer.testing import CliRunner, Result
from workbench import CLASSIFIER, Workbench

from lens_cli.application import create_application
from lens_cli.refusals import EXIT_INVALID, Refusal, RefusedInput


def classify(bench: Workbench, *more: str, output: str = "predictions.csv") -> Result:
    files = [str(bench.folder / name) for name in ("new.jsonl", "classifier.json", output)]
    return CliRunner().invoke(
        create_application(), ["classify", files[0], "--classifier", files[1], "--output", files[2], *more]
    )


def refusal_of(result: Result) -> Refusal:
    assert isinstance(result.exception, Refusal), result.output
    return result.exception


def test_output_that_exists_is_refused_and_kept(bench: Workbench) -> None:
    bench.write(["Sunny"])
    output = bench.folder / "predictions.csv"
    output.write_text("precious")
    refusal = refusal_of(classify(bench))
    assert "exists; name another file, or add --overwrite to replace it" in str(refusal)
    assert output.read_text() == "precious"


def test_output_that_exists_is_replaced_if_allowed(bench: Workbench) -> None:
    paths = bench.paths(bench.write(["Sunny"]))
    paths.output.write_text("old")
    paths.check(overwrite=True)
    bench.run(paths)
    assert "Sunny" in paths.output.read_text()


def test_input_is_never_overwritten(bench: Workbench) -> None:
    bench.write(["Sunny"])
    assert "the output is the file" in str(refusal_of(classify(bench, "--overwrite", output="new.jsonl")))


@pytest.mark.parametrize("option", [(), ("--model", "./nothing-here")])
def test_unknown_model_is_refused(option: tuple[str, ...], bench: Workbench) -> None:
    unknown = CLASSIFIER.model.model_copy(update={"model": "./nothing-there"})
    CLASSIFIER.model_copy(update={"model": unknown}).save(bench.folder / "classifier.json")
    bench.write(["Sunny"])
    refusal = refusal_of(classify(bench, *option))
    assert ("./nothing-here" if option else "./nothing-there") in str(refusal)
    assert refusal.details == ("where: --model",)
    assert sorted(path.name for path in bench.folder.iterdir()) == ["classifier.json", "new.jsonl"]


def test_missing_column_is_refused_with_its_option_before_the_model_is_loaded(bench: Workbench) -> None:
    bench.write(["Sunny"]).write_text("Message\nhello\n")
    message = str(refusal_of(classify(bench, "--text-column", "Note")))
    assert "no column named 'Note'" in message
    assert "name one of the columns found (--text-column)" in message


def test_input_that_cannot_be_read_to_its_end_is_refused(bench: Workbench) -> None:
    (bench.folder / "new.jsonl").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    refusal = refusal_of(classify(bench))
    assert "the Parquet file is damaged" in str(refusal)
    assert refusal.exit_code == EXIT_INVALID


def test_text_that_is_far_too_long_is_an_error_of_its_row(bench: Workbench) -> None:
    (bench.folder / "new.jsonl").write_text(f"id,text\n1,Sunny\n2,{'long ' * 30_000}\n3,Rainy\n")
    with pytest.raises(RefusedInput, match="1 of 3 rows could not be classified") as refusal:
        bench.run(bench.paths(bench.folder / "new.jsonl"))
    assert "`text` is longer than 131,072 characters; shorten it" in refusal.value.details[0]


def test_column_in_another_case_is_read_with_a_note(bench: Workbench) -> None:
    path = bench.write(["Sunny", "Rainy"], "new.csv")
    path.write_text(path.read_text().replace("id,text", "id,Text"))
    shown = bench.run(bench.paths(path), text_column=None)
    assert "note: read texts from 'Text' (named text but for case and spaces)" in shown
    assert "Rainy" in (bench.folder / "predictions.csv").read_text()

"""`lens classify` refuses what cannot work before it loads a model."""

import pytest
from typer.testing import CliRunner, Result
from workbench import CLASSIFIER, Workbench

from lens_cli.application import create_application
from lens_cli.refusals import Refusal


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


@pytest.mark.parametrize("option", [(), ("--model", "./nothing-here")])
def test_unknown_model_is_refused(option: tuple[str, ...], bench: Workbench) -> None:
    unknown = CLASSIFIER.model.model_copy(update={"model": "./nothing-there"})
    CLASSIFIER.model_copy(update={"model": unknown}).save(bench.folder / "classifier.json")
    bench.write(["Sunny"])
    refusal = refusal_of(classify(bench, *option))
    assert ("./nothing-here" if option else "./nothing-there") in str(refusal)
    assert refusal.details == ("where: --model",)
    assert sorted(path.name for path in bench.folder.iterdir()) == ["classifier.json", "new.jsonl"]

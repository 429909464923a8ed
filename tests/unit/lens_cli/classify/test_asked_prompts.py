from dataclasses import replace
from pathlib import Path

import pytest
from workbench import CLASSIFIER, Workbench, make_texts, read_output

from lens_cli.classify.run import Paths
from lens_cli.refusals import RefusedInput
from lens_engine.evaluation.batches import predict_rows
from lens_engine.files import TextRow
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.testing import TableScorer
from tests.formed import take_form
from tests.unit.lens_cli.results import make_result


def save(bench: Workbench, result: SelectionResult, output: str = "predictions.csv") -> Paths:
    """The files of a classification by a result."""
    (bench.folder / "result.json").write_text(result.model_dump_json())
    return replace(bench.paths(bench.write(make_texts(300)), output), classifier=bench.folder / "result.json")


@pytest.fixture
def formed() -> SelectionResult:
    result = make_result(task=CLASSIFIER.task)
    made_of = result.provenance.model_copy(update={"model": "table", "revision": "0" * 64})
    return take_form(result.model_copy(update={"provenance": made_of}))


def labels_of(path: Path) -> list[str]:
    return [row["label"] for row in read_output(path)]


def test_prompt_of_any_form_classifies(bench: Workbench, formed: SelectionResult) -> None:
    paths = save(bench, formed)
    bench.run(paths, what="support_examples")

    asked = classifier_of_prompt(formed)
    expected = predict_rows(asked, [TextRow(text) for text in make_texts(300)], TableScorer())
    assert labels_of(paths.output) == [one.label for one in expected]
    assert asked.retrieval is not None


def test_fixed_form_classifies_where_it_is_asked_for(bench: Workbench, formed: SelectionResult) -> None:
    paths = save(bench, formed)
    bench.run(paths, what="support_examples", is_fixed=True)

    asked = classifier_of_prompt(formed, is_fixed=True)
    expected = predict_rows(asked, [TextRow(text) for text in make_texts(300)], TableScorer())
    assert labels_of(paths.output) == [one.label for one in expected]
    assert asked.retrieval is None
    with pytest.raises(RefusedInput, match="leave --fixed out, or ask for --prompts support_examples"):
        bench.run(paths, what="classifier", is_fixed=True)


def test_classifier_of_a_result_classifies_by_default(bench: Workbench, formed: SelectionResult) -> None:
    paths = save(bench, formed)
    bench.run(paths)
    own = bench.paths(paths.texts, "own.csv")
    bench.run(own)
    assert paths.output.read_bytes() == own.output.read_bytes()


def test_rows_of_a_classifier_are_not_taken_for_those_of_the_prompt(bench: Workbench, formed: SelectionResult) -> None:
    def die(call: int) -> None:
        if call:
            raise RuntimeError("killed")

    paths = save(bench, formed)
    with pytest.raises(RuntimeError):
        bench.run(paths, before_call=die)
    assert "by an earlier run" not in bench.run(paths, what="support_examples")


def test_row_whose_prompt_is_too_long_is_bad_and_no_other(formed: SelectionResult) -> None:
    """The second text is the longest; the third has the longest prompt, by the row that is like it."""
    assert formed.pool is not None
    long = formed.pool.rows[-1].model_copy(update={"text": "opera " * 40})
    pool = formed.pool.model_copy(update={"rows": (*formed.pool.rows[:-1], long)})
    asked = classifier_of_prompt(formed.model_copy(update={"pool": pool}))
    rows = [TextRow("a film"), TextRow("a film of many words about nothing"), TextRow("opera")]

    found = predict_rows(asked, rows, TableScorer(max_prompt_tokens=40))

    assert [one.error is None for one in found] == [True, True, False]


def test_file_of_a_classifier_has_no_prompt_to_ask(bench: Workbench) -> None:
    with pytest.raises(RefusedInput, match="is a classifier, without support examples"):
        bench.run(bench.paths(bench.write(make_texts(3))), what="support_examples")

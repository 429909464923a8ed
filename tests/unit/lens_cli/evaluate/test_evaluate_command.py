"""`lens evaluate` refuses what cannot work before it loads a model, and shows figures."""

import signal
from io import StringIO
from pathlib import Path

import pytest
from evaluating import ROWS, Workbench, select
from rich.console import Console
from typer.testing import CliRunner, Result

from lens_cli.application import create_application
from lens_cli.refusals import EXIT_INTERRUPTED, EXIT_INVALID, Refusal
from lens_cli.subject_file import WhatIsAsked
from lens_cli.views.result import show_evaluation
from lens_engine.errors import ModelMismatch
from lens_engine.show.words import show_accuracy
from lens_engine.testing import TableScorer
from tests.dispositions import default_signals
from tests.unit.lens_cli.results import printed_on
from tests.unit.lens_engine.evaluation.test_evaluation import OtherScorer

ROW = [("Sunny", "positive"), ("Rainy", "negative")]


def evaluate(*words: str | Path) -> Result:
    return CliRunner().invoke(create_application(), ["evaluate", *map(str, words)])


def refusal_of(result: Result) -> Refusal:
    assert isinstance(result.exception, Refusal), result.output
    assert result.exception.exit_code == EXIT_INVALID
    return result.exception


@pytest.mark.parametrize(
    ("options", "message", "where"),
    [
        (("--prompts", "classifier", "--use", "prompt"), "leave --use out", "where: --use"),
        (("--prompts", "classifier", "--fixed"), "leave --fixed out", "where: --fixed"),
        (("--text-column", "Note"), "there is no column named 'Note'", "where: --text-column"),
        (("--model", "./nothing-here"), "./nothing-here", "where: --model"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: tuple[str, ...], message: str, where: str, bench: Workbench) -> None:
    refusal = refusal_of(evaluate(bench.save(select()), bench.write(ROW), *options))
    assert message in str(refusal)
    assert where in refusal.details


@pytest.mark.parametrize("option", [("--use", "prompt"), ("--prompts", "support_examples")])
def test_file_of_a_classifier_has_no_support_examples(option: tuple[str, str], bench: Workbench) -> None:
    refusal_of(evaluate(bench.save_classifier(), bench.write(ROW), *option))


def test_other_files_are_refused(bench: Workbench) -> None:
    rows = bench.write(ROW)
    assert "neither a result of lens select --output nor a classifier" in str(refusal_of(evaluate(rows, rows)))
    assert "does not exist" in str(refusal_of(evaluate(bench.folder / "none", rows)))


def test_result_without_a_classifier_is_refused(bench: Workbench) -> None:
    result = bench.save(select().model_copy(update={"classifier": None}))
    assert "has no classifier" in str(refusal_of(evaluate(result, bench.write(ROW), "--prompts", "classifier")))


def test_unknown_label_is_refused_with_its_row(bench: Workbench) -> None:
    refusal = refusal_of(evaluate(bench.save(select()), bench.write([*ROW, ("Foggy", "mixed")])))
    assert "line 4 has the label 'mixed', which the selection did not have" in str(refusal)


@pytest.mark.parametrize("what", ["support_examples", "classifier"])
def test_rows_of_a_label_that_the_selection_left_out_are_left_out(what: WhatIsAsked, bench: Workbench) -> None:
    file = bench.save(select(rows=(*ROWS, ("So so", "mixed"))))
    result, shown = bench.run(file, bench.write([*ROW, ("Foggy", " Mixed"), ("Misty", "mixed")]), what=what)
    note = "2 rows were left out, which have a label that the selection left out as too rare: ' Mixed' (1), 'mixed' (1)"
    assert (result.quality.n, f"note: {note}" in shown, note in result.warnings) == (2, True, True)
    refusal = refusal_of(evaluate(file, bench.write([("Foggy", "mixed"), ("Misty", "Mixed")]), "--prompts", what))
    assert "every row has a label that the selection left out as too rare" in str(refusal)


def test_another_model_is_asked_only_if_it_is_named(bench: Workbench) -> None:
    files = bench.save(select()), bench.write(ROW)
    with pytest.raises(ModelMismatch):
        bench.run(*files, scorer=OtherScorer)
    result, shown = bench.run(*files, model="./other", scorer=OtherScorer)
    assert "note: other is another model than that of the selection" in shown
    assert result.model is not None
    assert result.model.model == "other"
    assert bench.opened == [("table", "float32"), ("./other", "auto")]


def test_the_same_model_by_another_name_is_no_other_model(bench: Workbench) -> None:
    _, shown = bench.run(bench.save(select()), bench.write(ROW), model="./table", dtype="float32")
    assert "another model" not in shown


def test_stopped_run_keeps_nothing(bench: Workbench) -> None:
    def interrupt(_: int) -> None:
        signal.raise_signal(signal.SIGINT)

    rows = [(f"Day {number}", "positive") for number in range(300)]  # two batches
    files = bench.save(select()), bench.write(rows)
    with default_signals(), pytest.raises(Refusal, match="stopped; nothing is kept") as caught:
        bench.run(*files, scorer=lambda: TableScorer(before_call=interrupt))
    assert caught.value.exit_code == EXIT_INTERRUPTED
    assert bench.scorers[0].num_calls == 1


def test_long_rows_are_counted_and_not_judged(bench: Workbench) -> None:
    rows = bench.write([*ROW, ("word " * 90, "positive")])
    result, _ = bench.run(bench.save(select()), rows, scorer=lambda: TableScorer(max_prompt_tokens=60))
    assert (result.quality.n, result.unanswered) == (2, 1)
    assert result.warnings[0] == "1 row was too long and not judged"


def test_figures_are_shown(bench: Workbench) -> None:
    result, _ = bench.run(bench.save(select(with_test=True)), bench.write(ROWS[:40]))
    console = Console(file=StringIO(), width=120)
    show_evaluation(result, "The support examples", Path("figures.json"), console)
    shown = printed_on(console)
    assert "The support examples, asked of table\n40 rows, 0 unanswered" in shown
    for name, figure in (("right answers", show_accuracy(result.quality)), ("ECE", f"{result.quality.ece:.3f}")):
        assert name in shown
        assert figure in shown
    assert "Rows by label and answer" in shown
    assert shown.rstrip().endswith("figures in figures.json")


def test_confusions_of_many_labels_are_not_shown(bench: Workbench) -> None:
    result, _ = bench.run(bench.save(select()), bench.write(ROW))
    console = Console(file=StringIO(), width=120)
    show_evaluation(result.model_copy(update={"labels": tuple(map(str, range(11)))}), "It", None, console)
    assert "label and answer" not in printed_on(console)

"""The test rows of the selection answer as they did, and its other rows chose what is judged."""

import pytest
from evaluating import LABELS, ROWS, Workbench, select

from lens_cli.subject_file import WhatIsAsked
from lens_engine.classifier.classifier import Classifier, InputFormat
from lens_engine.config import Use
from lens_engine.evaluation.batches import Prediction, predict_rows
from lens_engine.files import TextRow
from lens_engine.prompt.pool import PromptForm
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.testing import TableScorer
from tests.formed import take_form

NEW = [(f"Play {number}", LABELS[number % 2]) for number in range(30)]


@pytest.mark.parametrize(("what", "use"), [(None, None), (None, "probabilities"), ("classifier", None)])
def test_test_rows_answer_as_in_the_selection(what: WhatIsAsked | None, use: Use | None, bench: Workbench) -> None:
    found = select(with_test=True)
    result, shown = bench.run(bench.save(found), bench.write(ROWS[:40]), what=what, use=use)
    test = found.classifier.quality if what and found.classifier else found.answer_for(use).test
    assert "note" not in shown
    assert test is not None
    assert (result.quality.accuracy, result.quality.n) == (test.accuracy, 40)
    assert result.quality.log_loss == pytest.approx(test.log_loss)


def test_labels_that_the_selection_joined_are_judged(bench: Workbench) -> None:
    rows = tuple((text, label.upper() if number % 3 else label) for number, (text, label) in enumerate(ROWS))
    result, _ = bench.run(bench.save(select(rows=rows, with_test=True)), bench.write(rows[:40]))
    usual, _ = bench.run(bench.save(select(with_test=True)), bench.write(ROWS[:40]))
    assert result.quality == usual.quality


@pytest.mark.parametrize("with_test", [True, False])
def test_rows_that_chose_the_examples_are_called_optimistic(with_test: bool, bench: Workbench) -> None:
    rows = ROWS[40:] if with_test else ROWS
    result, shown = bench.run(bench.save(select(with_test=with_test)), bench.write(rows))
    assert "note: these are the rows of the selection, which chose or fitted what is judged" in shown
    assert result.quality.n == len(rows)


def test_other_rows_are_all_judged(bench: Workbench) -> None:
    result, shown = bench.run(bench.save(select()), bench.write(NEW))
    assert "note" not in shown
    assert result.quality.n == 30
    assert sum(map(sum, result.confusion)) == 30


def test_rows_without_a_label_are_left_out_however_many_they_are(bench: Workbench) -> None:
    unlabelled = [(f"Poem {number}", "") for number in range(20)]
    result, shown = bench.run(bench.save(select()), bench.write([*NEW, *unlabelled]))
    assert result.quality.n == 30
    assert "20 rows" in shown
    assert "kept aside" in shown


def test_classifier_of_a_file_is_judged(bench: Workbench) -> None:
    classifier = select().classifier
    assert classifier is not None
    result, _ = bench.run(bench.save_classifier(), bench.write(NEW))
    expected = classifier.predict([text for text, _ in NEW], TableScorer()).labels
    hits = [label == gold for label, (_, gold) in zip(expected, NEW, strict=True)]
    assert result.quality.accuracy == sum(hits) / len(hits)
    _, shown = bench.run(bench.save_classifier(), bench.write(ROWS))
    assert "these are the rows of the selection" in shown


def test_column_and_dialect_of_the_selection_are_taken(bench: Workbench) -> None:
    classifier = select().classifier
    assert classifier is not None
    known = InputFormat(text_column="Отзыв", delimiter=";", encoding="windows-1251")
    result = select().model_copy(update={"classifier": classifier.model_copy(update={"input": known})})
    path = bench.folder / "new.csv"
    path.write_bytes("text;Отзыв;label\nx;хорошо;positive\ny;плохо;negative\n".encode("windows-1251"))
    judged, _ = bench.run(bench.save(result), path)
    expected, _ = bench.run(bench.save(select()), bench.write([("хорошо", "positive"), ("плохо", "negative")]))
    assert judged == expected


def test_prompt_that_finds_rows_is_judged_as_it_is(bench: Workbench) -> None:
    formed = take_form(select(), "fixed+nearest")
    result, shown = bench.run(bench.save(formed), bench.write(NEW))

    assert result.prompt_form == PromptForm(kind="fixed+nearest", nearest=2)
    asked = classifier_of_prompt(formed)
    hits = [one.label == gold for one, (_, gold) in zip(predict(asked), NEW, strict=True)]
    assert result.quality.accuracy == sum(hits) / len(hits)
    assert "fixed" not in shown


def predict(asked: Classifier) -> list[Prediction]:
    return predict_rows(asked, [TextRow(text) for text, _ in NEW], TableScorer())


def test_fixed_form_is_judged_where_it_is_asked_for(bench: Workbench) -> None:
    formed = take_form(select())
    result, _ = bench.run(bench.save(formed), bench.write(ROWS), is_fixed=True)
    plain, _ = bench.run(bench.save(select()), bench.write(ROWS))

    assert (result.quality, result.prompt_form) == (plain.quality, PromptForm())
    told = "the prompt of the selection has the form nearest 2; its fixed form is judged here"
    assert told in result.warnings
    assert told not in plain.warnings

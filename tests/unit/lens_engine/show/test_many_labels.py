"""The report on 150 labels and long texts: small enough for a page, and it says what it leaves out."""

import pytest

from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.prompt.record import LabelWord, TaskRecord
from lens_engine.result import LabelBias, LabelEffect, SelectionResult, SupportExamples
from lens_engine.show.report import ResultView, Texts, make_environment, write_html
from lens_engine.show.tables import MOST_LABELS
from tests.answered import make_answers
from tests.unit.lens_engine.show.reported import make_reported

ROWS = 1500
LONG = ("A long text. " * 2000)[:20_000].strip()
TEXTS = Texts(*[{row: f"{row} {LONG}" for row in range(ROWS)}] * 2)
PAGE = make_environment().from_string('{% from "result.html" import section %}{{ section(one, cell_url="/rows") }}')


def make_wide(number: int) -> SelectionResult:
    labels = tuple(f"topic {place}" for place in range(number))
    gold = tuple(row % number for row in range(ROWS))
    answers = tuple((place + row % 7) % number for row, place in enumerate(gold))
    shares = tuple(0.2 + row / 2000 for row in range(ROWS))
    first, second = make_reported().support_examples
    return make_reported(
        task=TaskRecord(
            template="{text} Topic: {label}.",
            label_words=tuple(LabelWord(label=one, word=one) for one in labels),
            separator="\n",
        ),
        support_examples=(_widen(first, labels), _widen(second, labels)),
        answers=make_answers(
            is_test=True,
            rows=tuple(range(ROWS)),
            gold=gold,
            support_examples=(answers, answers),
            classifier=answers,
            support_examples_probabilities=(shares, shares),
            classifier_probabilities=shares,
        ),
        suspicious_labels=tuple(
            SuspiciousLabel(row=row, label=labels[-1], likelier=labels[0], probability=0.1, probability_of_likelier=0.8)
            for row in range(200)
        ),
    )


def _widen(answer: SupportExamples, labels: tuple[str, ...]) -> SupportExamples:
    effects = tuple(LabelEffect(label=one, effect=0.01 * place - 0.5, rows=3) for place, one in enumerate(labels))
    examples = tuple(one.model_copy(update={"effects": effects}) for one in answer.examples)
    biases = tuple(LabelBias(label=one, bias=0.1) for one in labels)
    return answer.model_copy(update={"examples": examples, "label_biases": biases})


def test_report_on_many_labels_and_long_texts_is_small_and_says_what_it_leaves_out() -> None:
    page = write_html(ResultView(make_wide(150), TEXTS))
    assert len(page.encode()) < 300_000
    for left_out in (
        "150 labels are too many for a matrix; the 50 most frequent",
        "80 of them are listed",
        "texts of more than 300 characters are cut",
    ):
        assert left_out in page


def test_most_confused_pairs_stand_in_place_of_a_large_matrix() -> None:
    section = ResultView(make_wide(MOST_LABELS + 1)).confusion
    assert (section.matrices, len(section.tables)) == ((), 3)
    table = section.tables[0]
    assert table.title == "Most frequent mix-ups of the classifier: 186 pairs"
    assert table.rows[0] == ("topic 0", "topic 1", "7")
    assert len(table.rows) == 50
    numbers = [int(row[-1]) for row in table.rows]
    assert numbers == sorted(numbers, reverse=True)
    assert len(ResultView(make_wide(MOST_LABELS)).confusion.matrices) == 3


@pytest.mark.parametrize(("number", "folded"), [(MOST_LABELS, 0), (MOST_LABELS + 1, 3)])
def test_page_folds_wrong_rows_where_no_matrix_shows_them(number: int, folded: int) -> None:
    page = PAGE.render(one=ResultView(make_wide(number)).confusion)
    assert page.count("<details>") == folded
    assert ("<button" in page) is not folded


def test_texts_of_rows_are_cut_and_examples_and_prompt_are_whole() -> None:
    wide = make_wide(4)
    example = wide.examples[0].model_copy(update={"text": LONG})
    answer = wide.answer.model_copy(update={"examples": (example,), "prompt": f"{LONG}!"})
    result = wide.model_copy(update={"support_examples": (answer, wide.support_examples[1])})
    written = write_html(ResultView(result, TEXTS))
    assert written.count(LONG) == 2
    assert f"{LONG}!" in written
    assert f"1499 {LONG[:294]}…" in written

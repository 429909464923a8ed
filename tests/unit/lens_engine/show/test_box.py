"""The box that a person signs: each line from the result alone."""

import re
from datetime import date

import pytest

from lens_engine.classifier.quality import AnsweredShare
from lens_engine.prompt.record import LabelWord
from lens_engine.result import SelectionResult
from lens_engine.show.report import ResultView, Texts, write_html
from tests.unit.lens_cli.results import CONTENDERS, QUALITY, TESTED, make_answer, make_contender, make_result
from tests.unit.lens_engine.show.reported import make_reported
from tests.unit.lens_engine.show.test_verdict import make_untested

CURVE = tuple(AnsweredShare(threshold=0.9 - one, share=one, accuracy=1 - one / 20) for one in (1.0, 0.81, 0.7, 0.1))
SURE = QUALITY.model_copy(update={"shares_answered": CURVE})
SPENT = make_result().cost.model_copy(update={"tokens": 100_000, "seconds": 50.0, "pairs_from_cache": 0})
SERVED = make_result().provenance.model_copy(update={"device": "endpoint", "model": "gpt"})
EMPTY = make_answer("prompt", examples=(), prompt="")
COUNTED = (make_contender("word counting", "bag_of_words", None, tokens=0.0), *CONTENDERS[1:])
PRICED = tuple(one.model_copy(update={"usd": 1.31}) for one in CONTENDERS)
WORDS = tuple(one.model_copy(update={"is_chosen": one.name == "bag_of_words"}) for one in TESTED)


def read_line(result: SelectionResult, name: str, texts: Texts | None = None) -> str:
    return " ".join(dict(ResultView(result, texts or Texts()).box.lines)[name])


CASES: list[tuple[SelectionResult, str, str]] = [
    (
        make_reported(),
        "Goes wrong",
        "6 of 40 test texts were wrong. Most frequent mix-up: “billing” answered “delivery” (2 texts).",
    ),
    (
        make_result(tested=(*TESTED[:3], TESTED[3].model_copy(update={"test": SURE}))),
        "A person should look at",
        "If a person takes the least sure 19 %, 155 of 162 others are right. For that, leave answers below 0.0900 "
        "open: --answer-above 0.0900, or answer_above of the API.",
    ),
    (  # on the rows that judged it, where there are no test rows
        make_untested("prompt", support_examples=2 * (make_answer("prompt", test=None, judged=SURE),)),
        "A person should look at",
        "If a person takes the least sure 19 %, 155 of 162 others are right. For that, leave answers below 0.0900 "
        "open: --answer-above 0.0900, or answer_above of the API.",
    ),
    (make_reported(), "A person should look at", "1 labelled row may have a wrong label (listed below)."),
    (
        make_untested("prompt"),
        "A person should look at",
        "The model does not say how sure it is, so check a random sample.",
    ),
    (
        make_result(cost=SPENT),
        "1,000 texts cost",
        "No fee: this machine, about 20 s (about 40,600 tokens). smollm2 runs on your own machines (cpu); no text "
        "leaves them.",
    ),
    (
        make_result(cost=SPENT.model_copy(update={"pairs_from_cache": 9})),
        "1,000 texts cost",
        "No fee: this machine (about 40,600 tokens). smollm2 runs on your own machines (cpu); no text leaves them.",
    ),
    (
        make_result(first="prompt", contenders=PRICED, provenance=SERVED, cost=SPENT),
        "1,000 texts cost",
        "1.31 USD, about 25 s (about 49,600 tokens). Each text goes with the examples to the server of gpt.",
    ),
    (
        make_result(first="prompt", provenance=SERVED, cost=SPENT),
        "1,000 texts cost",
        "The fee of its server, whose prices are not known, about 25 s (about 49,600 tokens). Each text goes with the "
        "examples to the server of gpt.",
    ),
    (
        make_untested("words", contenders=COUNTED, tested=WORDS),
        "1,000 texts cost",
        "No fee: words are counted on any computer, and no text leaves it.",
    ),
    (make_result(support_examples=(EMPTY, EMPTY)), "Texts inside", "Texts of yours in this file: none."),
    (make_result(), "Decision", "Use the classifier."),
]


@pytest.mark.parametrize(("result", "name", "told"), CASES)
def test_box_says_in_a_line(result: SelectionResult, name: str, told: str) -> None:
    assert read_line(result, name) == told
    sentences = [one for _, line in ResultView(result).box.lines for one in line]
    assert [one for one in sentences if len(one.split()) > 16 and ":" not in one] == [], "all but lists are short"


def test_box_says_what_must_be_known_of_the_rows() -> None:
    (line,) = (
        told for name, told in ResultView(make_result(), told=("7 labels were changed",)).box.lines if name == "Expect"
    )
    assert line[1] == "7 labels were changed."


def test_box_counts_the_texts_that_the_file_holds() -> None:
    texts = Texts({71: "Where is my bill?", 2: "Not shown"}, {100: "Charged twice", 107: "Lost", 101: "It came"})
    told = "Texts of yours in this file: 3 in the prompt, 2 in the wrong answers, 1 in the suspicious labels."
    assert read_line(make_reported(), "Texts inside", texts) == told
    page = write_html(ResultView(make_reported(), texts))
    assert [text in page for text in texts.dataset.values()] == [True, False]
    assert [text in page for text in texts.test.values()] == [True, True, False]


def test_report_begins_with_the_box_and_folds_a_prompt_that_is_not_recommended() -> None:
    for first, is_folded in (("classifier", True), ("prompt", False)):
        page = write_html(ResultView(make_reported(first=first)))
        assert page.index("Texts inside") < page.index("Date</span>") < page.index('aria-label="Contents"')
        names = re.findall(r'<section aria-labelledby="([^"]+)"', page)
        assert names[:4] == ["choice", "accuracies", "confusion", "prompt"]
        assert ('<details><summary><h2 id="prompt">' in page) == is_folded


@pytest.mark.parametrize(("accuracy", "is_said"), [(0.924, False), (0.925, True)])
def test_threshold_is_that_of_the_table_and_advised_from_two_points_on(accuracy: float, is_said: bool) -> None:
    curve = (CURVE[0], CURVE[1].model_copy(update={"accuracy": accuracy}), CURVE[2])
    quality = QUALITY.model_copy(update={"shares_answered": curve})
    result = make_result(tested=(*TESTED[:3], TESTED[3].model_copy(update={"test": quality})))
    told = dict(ResultView(result).box.lines).get("A person should look at", ())
    assert any("--answer-above 0.0900," in one for one in told) == is_said
    (table,) = ResultView(result).calibration.tables
    assert table.title.endswith("classifier, on 200 test texts")
    assert table.rows[1] == ("81 %", f"{round(162 * accuracy)} of 162 ({92 + is_said} %)", "0.0900")


@pytest.mark.parametrize(
    ("labels", "title"),
    [
        (("yes", "no"), "How to tell “yes” and “no” apart"),
        (tuple("abcdefg"), "How to tell “a”, “b”, “c”, “d”, “e” and 2 other labels apart"),
    ],
)
def test_title_has_the_question_and_no_id(labels: tuple[str, ...], title: str) -> None:
    task = make_result().task.model_copy(
        update={"label_words": tuple(LabelWord(label=one, word=one) for one in labels)}
    )
    view = ResultView(make_result(task=task), name="reviews.csv", made=date(2026, 3, 1))
    assert (view.title, view.about) == (title, "reviews.csv · smollm2 · 1 March 2026 · Lens 0.1.0")

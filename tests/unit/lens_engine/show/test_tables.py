"""Support examples and contenders, as tables of strings and bars."""

import numpy as np

from lens_engine.classifier.quality import AnsweredShare, RowFigures, measure_figures
from lens_engine.result import Wording
from lens_engine.show.report import ResultView, write_fragment, write_html
from lens_engine.show.table import Table
from lens_engine.show.tables import (
    list_chosen,
    tabulate_answered,
    tabulate_contenders,
    tabulate_examples,
    tabulate_shares,
)
from tests.unit.lens_cli.results import JUDGED, QUALITY, make_answer, make_contender, make_result, make_tested


def test_examples_are_in_the_order_of_the_prompt_with_their_scores() -> None:
    table = tabulate_examples(make_answer("prompt"))
    assert table.title == "Examples, in order"
    assert table.rows == (("1", "[red]loved[/red] it", "great", "913"),)
    answer = make_answer("prompt", examples=(), method="zero_shot")
    assert tabulate_examples(answer).title == "No examples"


def test_every_contender_has_its_figures_and_the_chosen_are_marked() -> None:
    table = tabulate_contenders(make_result())
    assert table is not None
    assert table.header == ("", "right answers", "rows", "test texts", "tokens\na text", "tokens\nheld")
    assert table.rows[:2] == (
        ("answers of the model", "80 % (74–85)", "200", "91 % (86–94)", "41", "650"),
        ("LENS 1", "91 % (84–95)", "100", "91 % (86–94)", "41", "9"),
    )
    assert table.rows[3] == ("no examples", "91 % (84–95)", "100", "–", "41", "0")
    assert table.marked == {0, 1, 2}
    assert table.caption.endswith("1 other was judged on a part of the rows alone")


def test_columns_are_those_of_which_something_is_known() -> None:
    priced = make_contender("LENS 1", "lens", judged=JUDGED.model_copy(update={"largest_class": 0.6}), usd=0.25)
    facts = make_result().provenance.model_copy(update={"config": {"objective": "macro_f1"}})
    table = tabulate_contenders(make_result(contenders=(priced,), provenance=facts))
    assert table is not None
    assert table.header == ("", "right answers", "macro\nF1", "rows", "tokens\na text", "tokens\nheld", "1,000 texts")
    assert table.rows[0][2::4] == ("0.91", "0.2500 USD")
    assert table.rows[1] == ("always the most frequent label", "60 %", *["–"] * 5)


def test_chosen_prompt_is_that_in_the_chosen_wording() -> None:
    task = make_result().task
    wordings = (Wording(template="{text} {label}", instruction=""), Wording(template=task.template, instruction=""))
    twice = tuple(make_contender(str(place), "lens", rows=(912,), wording=place) for place in (0, 1))
    assert [one.name for one in list_chosen(make_result(contenders=twice, wordings=wordings))] == ["1"]


def test_prompt_that_is_better_without_corrections_is_marked_as_it_is_read() -> None:
    answers = (make_answer("prompt"), make_answer("probabilities", label_biases=()))
    assert [one.use for one in list_chosen(make_result(support_examples=answers, tested=()))] == ["prompt"]


def test_answers_above_a_threshold_are_shown_where_probabilities_differ() -> None:
    curve = tuple(
        AnsweredShare(threshold=at, share=share, accuracy=1 - share / 4)
        for at, share in ((0.5, 1.0), (0.8, 0.5), (0.9, 0.1))
    )
    decided = QUALITY.model_copy(update={"shares_answered": curve, "largest_class": 0.6})
    tested = make_tested("bag_of_words", "bag_of_words", 0, test=QUALITY).model_copy(
        update={"cross_validated": decided, "test": None, "is_chosen": True}
    )
    result = make_result(tested=(tested,))
    table = tabulate_answered(result)
    assert table is not None
    assert table.rows == (("100 %", "150 of 200 (75 %)", "0.5000"), ("50 %", "88 of 100 (88 %)", "0.8000"))
    title = "Leave doubtful texts to a person: classifier, on 200 rows"
    assert title in result.summary()
    assert title in write_html(ResultView(result))
    assert tabulate_answered(make_result()) is None


def test_table_has_shares_down_to_a_half_beside_the_largest_class() -> None:
    first = np.linspace(0.5, 0.99, 100)
    figures = RowFigures.of(np.log(np.stack([first, 1 - first], axis=1)), np.array([1] * 25 + [0] * 75))
    table = tabulate_shares("classifier", measure_figures(figures), "100 rows")
    assert table is not None
    assert table.title == "Leave doubtful texts to a person: classifier, on 100 rows"
    assert table.rows[0] == ("100 %", "75 of 100 (75 %)", "0.5000")
    assert table.rows[-1][:2] == ("50 %", "50 of 50 (100 %)")
    assert len(table.rows) == 7
    assert "always the most frequent label: 75 %" in table.caption


TABLE = Table(
    title="Costs & <more>",
    header=("phase", "to\nkens"),
    rows=(("filter", "1,000"), ("<b>", "7")),
    words=("phase",),
    footer=("total", "1,007"),
    marked=frozenset({1}),
    caption='"quoted"',
)


def test_text_stands_in_columns_words_left_and_figures_right() -> None:
    assert TABLE.as_text().splitlines() == [
        "Costs & <more>",
        "  phase   to kens",
        "  filter    1,000",
        "  <b>           7",
        "  total     1,007",
        '"quoted"',
    ]


def test_html_escapes_every_string_and_marks_a_row() -> None:
    page = write_fragment(TABLE, "<i>")
    assert "<b>" not in page
    assert "<caption>Costs &amp; &lt;more&gt; <small>&#34;quoted&#34;</small></caption>" in page
    assert page.count('class="chosen"') == 1
    assert "<tfoot>" in page
    assert "<p>&lt;i&gt;</p>" in page

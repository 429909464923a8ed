"""Support examples, compared prompts and candidates for the classifier, as tables of strings."""

import re

import numpy as np
import pytest

from lens_engine.classifier.abstaining import AnsweredShare
from lens_engine.classifier.predictions import Predictions
from lens_engine.classifier.quality import measure_quality
from lens_engine.show.documents import write_fragment, write_html
from lens_engine.show.figures import tabulate_answered, tabulate_classifiers, tabulate_prompts, tabulate_shares
from lens_engine.show.report import ResultView
from lens_engine.show.sentences import describe_classifier
from lens_engine.show.table import Table
from lens_engine.show.tables import tabulate_examples
from lens_engine.show.words import name_choice, name_classifier
from lens_engine.task.wording import shorten
from tests.unit.lens_cli.results import QUALITY, TESTED, make_answer, make_result, make_tested


def test_examples_are_in_the_order_of_the_prompt_with_their_scores() -> None:
    table = tabulate_examples(make_answer("prompt"))
    assert table.title == "Examples, in order"
    assert table.rows == (("1", "[red]loved[/red] it", "great", "913"),)
    answer = make_answer("prompt", examples=(), method="zero_shot")
    assert tabulate_examples(answer).title == "No examples"


def test_prompts_are_shown_for_both_uses() -> None:
    assert tabulate_prompts(make_result()).rows == (
        ("examples of Lens", "91 % (86–94)", "0.90", "86 % (81–90)", "0.85"),
        ("no examples", "–", "–", "–", "–"),
        ("best random examples", "80 % (74–85)", "0.79", "80 % (74–85)", "0.79"),
        ("random examples, on rows that decide, mean of 10", "66 % (50–83)", "–", "–", "–"),
    )


def test_result_without_tested_prompts_is_shown() -> None:
    answers = tuple(
        answer.model_copy(
            update={"contenders": tuple(one.model_copy(update={"test": None}) for one in answer.contenders)}
        )
        for answer in make_result().support_examples
    )
    largest = {"largest_class": 0.75, "largest_class_macro_f1": 0.429}
    tested = make_tested("bag_of_words", "bag_of_words", 0, test=QUALITY.model_copy(update=largest))
    result = make_result(support_examples=answers, tested=(tested,))
    assert tabulate_prompts(result).rows[3] == ("always the most frequent label", *("75 %", "0.43") * 2)
    assert str(result)
    assert result.summary()
    assert result._repr_html_()


@pytest.mark.parametrize(("method", "row"), [("lens", 0), ("zero_shot", 1), ("random_and_validation", 2)])
def test_prompt_of_the_answer_is_marked(method: str, row: int) -> None:
    answers = (make_answer("prompt", method=method), make_answer("probabilities"))
    assert tabulate_prompts(make_result(support_examples=answers)).marked == {row}


def test_candidates_are_named_by_what_they_read() -> None:
    assert [name_classifier(one) for one in (make_tested("embeddings", "embeddings", 0), *TESTED)] == [
        "sentence embeddings",
        "word counting",
        "model, no examples, layer 16",
        "model, after examples, layer 20",
        "answers of the model, prior",
    ]


def test_classifier_of_embeddings_needs_no_language_model() -> None:
    chosen = make_tested("embeddings", "embeddings", 0, is_chosen=True)
    assert "the sentence embedding of a text, and needs no language model" in describe_classifier(
        make_result(tested=(chosen,))
    )


def test_candidates_have_every_figure_and_the_chosen_one_is_marked() -> None:
    table = tabulate_classifiers(make_result())
    assert table is not None
    assert table.rows[-1][1:] == ("91 % (86–94)", "0.90", "41", "0.500", "0.287", "0.031")
    assert table.rows[1][1:] == ("–", "–", "41", "0.500", "–", "–")
    assert table.marked == {place for place, one in enumerate(TESTED) if one.is_chosen}


def test_result_without_candidates_has_no_table_of_them() -> None:
    assert tabulate_classifiers(make_result(tested=())) is None


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("lens", "prompt"),
        ("zero_shot", "prompt without examples"),
        ("random_and_validation", "prompt of the best random examples"),
    ],
)
def test_prompt_is_named_by_where_its_examples_come_from(method: str, name: str) -> None:
    assert name_choice(make_answer("prompt", method=method)) == name


def test_answers_above_a_threshold_are_shown_where_probabilities_differ() -> None:
    curve = tuple(
        AnsweredShare(threshold=at, share=share, accuracy=1 - share / 4)
        for at, share in ((0.5, 1.0), (0.8, 0.5), (0.9, 0.1))
    )
    decided = QUALITY.model_copy(update={"shares_answered": curve, "largest_class": 0.6})
    tested = make_tested("bag_of_words", "bag_of_words", 0, test=QUALITY).model_copy(
        update={"cross_validated": decided, "is_chosen": True}
    )
    result = make_result(tested=(tested,))
    table = tabulate_answered(result)
    assert table is not None
    assert table.rows == (("100 %", "75 %", "0.5000"), ("50 %", "88 %", "0.8000"))
    title = "Leave doubtful texts to a person: classifier, on 200 rows by cross-validation"
    assert title in result.summary()
    assert title in write_html(ResultView(result))
    assert tabulate_answered(make_result()) is None


def test_table_has_shares_down_to_a_half_beside_the_largest_class() -> None:
    first = np.linspace(0.5, 0.99, 100)
    quality = measure_quality(np.log(np.stack([first, 1 - first], axis=1)), np.array([1] * 25 + [0] * 75))
    table = tabulate_shares("classifier", quality, "100 rows")
    assert table is not None
    assert table.title == "Leave doubtful texts to a person: classifier, on 100 rows"
    assert table.rows[0] == ("100 %", "75 %", "0.5000")
    assert table.rows[-1][:2] == ("50 %", "100 %")
    assert len(table.rows) == 7
    assert "always the most frequent label: 75 %" in table.caption


def test_equal_probabilities_have_no_table_of_shares() -> None:
    quality = measure_quality(np.log(np.full((6, 2), 0.5)), np.array([0, 1, 0, 1, 0, 0]))
    assert tabulate_shares("classifier", quality, "rows") is None


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


def test_table_without_rows_has_its_header() -> None:
    assert Table("None", ("", "n"), ()).as_text().splitlines() == ["None", "    n"]


def test_html_escapes_every_string_and_marks_a_row() -> None:
    page = write_fragment(TABLE, "<i>")
    assert "<b>" not in page
    assert "<caption>Costs &amp; &lt;more&gt; <small>&#34;quoted&#34;</small></caption>" in page
    assert page.count('class="chosen"') == 1
    assert "<tfoot>" in page
    assert "<p>&lt;i&gt;</p>" in page


def test_notebook_shows_the_first_predictions_escaped() -> None:
    many = Predictions(("<b>",) * 30, np.tile([0.25, 0.75], (30, 1)), ("warm", "<b>"))
    page = many._repr_html_()
    assert page is not None
    assert re.findall(r'<tr>\s*<th scope="row">(\d+)</th>', page) == [str(number) for number in range(1, 21)]
    assert "<b>" not in page
    assert "the first 20 of 30" in page


@pytest.mark.parametrize(
    ("text", "shown"), [("a\n  b", "a b"), ("x" * 72, "x" * 72), ("x" * 73, "x" * 71 + "…"), ("", "")]
)
def test_long_text_is_cut_and_has_one_line(text: str, shown: str) -> None:
    assert shorten(text, 72) == shown

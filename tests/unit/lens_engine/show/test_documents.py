"""A result as HTML: every figure of the result, and no markup of a text."""

import json
import re
from typing import Any

import pytest

from lens_engine.classifier.quality import AnsweredShare
from lens_engine.result import SelectionResult
from lens_engine.show.report import ResultView, Texts, write_html
from lens_engine.show.verdict import say_beside
from tests.answered import make_answers
from tests.unit.lens_cli.results import make_answer, make_result
from tests.unit.lens_engine.show.reported import LABELS, make_reported

HOSTILE = "<script>alert(1)</script>\" onload='x' | `a` ]]> {{ 7 * 7 }}"

# (where in result.json, the changed figure, how a report writes it)
FIGURES: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("contenders", 0, "test", "accuracy"), 0.6173, "62 %"),
    (("contenders", 1, "judged", "ci95", 0), 0.1374, "(14–"),
    (("contenders", 2, "tokens"), 731.4, "731"),
    (("contenders", 3, "tokens_held"), 1234.0, "1,234"),
    (("contenders", 4, "usd"), 1.31, "1.31 USD"),
    (("tested", 3, "test", "accuracy"), 0.6173, "123 of 200 test texts"),
    (("contenders", 5, "test", "accuracy"), 0.6173, "counting words 62"),
    (("classifier_estimate", "beats", 0, "chance"), 0.43, "Counting words and no examples may"),
    (("support_examples", 0, "examples", 1, "effects", 2, "effect"), -0.3571, "-0.3571"),
    (("support_examples", 0, "examples", 0, "info_score"), 0.0937, "+0.0937"),
    (("support_examples", 0, "label_biases", 0, "bias"), -0.7713, "-0.7713"),
    (("support_examples", 0, "test", "ece"), 0.2345, "off by 23 points"),
    (("answers", "classifier", 0), 3, "answered technical"),
    (("answers", "classifier_probabilities", 7), 0.9127, "91 %"),
    (("suspicious_labels", 0, "probability_of_likelier"), 0.8881, "89 %"),
    (("cost", "pairs"), 31234, "31,234"),
    (("counts", "judging"), 4321, "4,321"),
    (("provenance", "seed"), 77123, "77,123"),
]


def change(result: SelectionResult, path: tuple[str | int, ...], value: Any) -> SelectionResult:
    content = json.loads(result.model_dump_json())
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return SelectionResult.model_validate(content)


@pytest.mark.parametrize(("path", "value", "shown"), FIGURES, ids=[".".join(map(str, path)) for path, *_ in FIGURES])
def test_changed_figure_of_a_result_changes_its_report(path: tuple[str | int, ...], value: Any, shown: str) -> None:
    results = (make_reported(), change(make_reported(), path, value))
    before, after = (write_html(ResultView(one)).replace("\xa0", " ") for one in results)
    assert before != after
    if not shown.startswith("answered"):
        assert after.count(shown) > before.count(shown)


def test_no_line_of_html_ends_before_per_cent_and_a_prompt_stays_as_it_is() -> None:
    answer = make_reported().answer.model_copy(update={"prompt": "50 % off?"})
    page = write_html(ResultView(make_reported(support_examples=(answer, make_reported().support_examples[1]))))

    assert ">50 % off?</pre>" in page
    prose = re.sub(r"<(svg|pre|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r".{20}\d %", prose) == []
    assert "\xa0%" in prose


def test_confusion_counts_the_rows_of_each_cell() -> None:
    (matrix, *_), page = ResultView(make_reported()).confusion.matrices, write_html(ResultView(make_reported()))
    assert matrix.labels == LABELS
    assert [list(line) for line in matrix.counts] == [[8, 2, 0, 0], [0, 9, 1, 0], [0, 0, 9, 1], [2, 0, 0, 8]]
    assert "Texts that the classifier got wrong: 6 of 40" in page
    assert re.search(r"<th scope=\"row\">129</th>\s*<td class=\"words\">billing</td>", page)


def test_texts_of_rows_stand_beside_them_if_they_are_known() -> None:
    texts = Texts({71: "Where is my bill?"}, {100: "Charged twice"})
    written = write_html(ResultView(make_reported(), texts))
    assert "Where is my bill?" in written
    assert "Charged twice" in written
    assert ResultView(make_reported()).wrong_rows == {100, 107, 114, 121, 128, 135}


def test_html_has_no_script_no_outer_file_and_no_markup_of_a_text() -> None:
    examples = tuple(one.model_copy(update={"text": HOSTILE, "label": HOSTILE}) for one in make_reported().examples)
    answer = make_reported().answer.model_copy(update={"examples": examples, "prompt": HOSTILE, "reason": HOSTILE})
    result = make_reported(support_examples=(answer, make_reported().support_examples[1]), warnings=(HOSTILE,))
    for page in (write_html(ResultView(result, Texts({71: HOSTILE}, {100: HOSTILE}))), result._repr_html_() or ""):
        assert "<script" not in page
        assert "onload='x'" not in page
        assert "49" not in re.sub(
            r"[\d.]*\d49\d*|0\.\d+", "", page.split("What to use")[1].split("How often each is right")[0]
        )
        assert not re.search(r"\b(src|url\(|@import|style)=", page)
        assert set(re.findall(r'href="(.)', page)) <= {"#"}
        assert "&lt;script&gt;" in page


def test_ids_are_unique_and_headings_in_order() -> None:
    page = write_html(ResultView(make_reported()))
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert re.findall(r"<h(\d)", page) == ["1", *["2"] * 9]
    named = re.findall(r'aria-labelledby="([^"]+)"', page)
    assert {one for names in named for one in names.split()} <= set(ids)


def test_report_says_what_was_asked() -> None:
    result = make_reported()
    asked = result.provenance.config | {"seed": 4711}
    facts = result.provenance.model_copy(update={"config": asked})
    page = write_html(ResultView(result.model_copy(update={"provenance": facts})))
    headings = re.findall(r">([^<>]+)</(?:h2|caption)>", page)
    assert headings.count("What was asked") == 1
    shown = page.split('<h2 id="asked">')[-1]
    assert all(one.word in shown for one in result.task.label_words)
    assert "4711" in shown


def test_result_of_a_run_that_judged_nothing_has_a_report() -> None:
    assert "Nothing was judged" in write_html(ResultView(make_result()))
    assert write_html(ResultView(make_result(tested=(), classifier=None, contenders=())))


def test_answers_by_cross_validation_leave_out_the_rows_that_a_prompt_shows() -> None:
    answers = make_reported().answers
    first, second = answers.support_examples
    assert first is not None
    shown = answers.model_copy(update={"is_test": False, "support_examples": ((None, *first[1:]), second)})
    view = ResultView(make_reported(answers=shown), Texts({100: "Charged twice"}))
    _, prompt, _ = view.answered
    assert (prompt.rows[0], len(prompt.rows), prompt.quality) == (101, 39, view.result.answer.judged)
    table = view.answered[0].tabulate_wrong({100: "Charged twice"})
    assert table.header[0] == "row"
    assert "Charged twice" in write_html(view)


def test_report_says_why_it_shows_no_answers() -> None:
    answers = make_reported().answers
    silent = {"support_examples_probabilities": (None, None), "classifier_probabilities": None}
    unanswered = {"support_examples": (None, None), "classifier": None}
    for found, confusion, calibration in (
        (answers.model_copy(update=silent), (), "The model gives no probabilities."),
        (answers.model_copy(update=silent | unanswered), ("Nothing was judged.",), "Nothing was judged."),
    ):
        view = ResultView(make_reported(answers=found))
        assert view.confusion.text == confusion
        assert view.calibration.text == (calibration,)


def test_cell_asks_the_page_for_its_rows() -> None:
    from lens_engine.show.report import make_environment

    template = make_environment().from_string('{% from "result.html" import section %}{{ section(one, 3, "/rows") }}')
    page = template.render(one=ResultView(make_reported()).confusion)
    assert 'hx-get="/rows?of=classifier&gold=0&answer=1"' in page
    assert "<details" not in page
    assert page.startswith('<section aria-labelledby="confusion">\n<h3')


def test_notebook_shows_the_first_sections() -> None:
    shown = make_reported()._repr_html_()
    assert shown.count("<h3") == 4
    assert shown.count("<svg") == 2  # the accuracies, narrow and wide
    assert "<body" not in shown


@pytest.mark.parametrize(("near", "is_said"), [(2, False), (3, True)])
def test_near_repeats_stand_beside_the_figures(near: int, is_said: bool) -> None:
    result = make_reported()
    counts = result.counts.model_copy(update={"near_test_rows": near})
    result = result.model_copy(update={"counts": counts})
    for shown in (" ".join(dict(ResultView(result).box.lines)["Expect"]), " ".join(ResultView(result).choice.text)):
        assert (f"{near} test texts are nearly equal to labelled texts" in shown) == is_said
    untested = result.model_copy(update={"tested": (), "answers": make_answers()})
    assert not any("nearly equal" in one for one in say_beside(untested)), "there is no figure"


def test_each_way_to_answer_has_one_table_of_thresholds() -> None:
    curve = tuple(AnsweredShare(threshold=0.9 - one, share=one, accuracy=1 - one / 5) for one in (0.5, 0.8))
    result = make_reported()
    content = json.loads(result.model_dump_json())
    shares = [one.model_dump() for one in curve]
    for one in content["tested"]:
        one["cross_validated"]["shares_answered"] = shares
        one["test"] = one["test"] and one["test"] | {"shares_answered": shares}
    for one in content["support_examples"]:
        one["test"] |= {"shares_answered": shares}
    tables = ResultView(SelectionResult.model_validate(content)).calibration.tables
    assert [one.title.partition(": ")[2] for one in tables] == [
        "classifier, on 200 test texts",
        "prompt, as the model answers, on 200 test texts",
        "prompt, corrected, on 200 test texts",
    ]


def test_run_that_measured_no_example_has_no_chapter_of_them() -> None:
    result = make_result(support_examples=(make_answer("prompt", label_biases=(), examples=()),))
    assert "What each example does" not in write_html(ResultView(result))
    assert "What each example does" in write_html(ResultView(make_reported()))

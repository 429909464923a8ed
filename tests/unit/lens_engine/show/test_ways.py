"""One figure of each way to answer, wherever it is shown."""

from typing import Any

import pytest

from lens_cli.views.result import draw_ways
from lens_engine.prompt.wording import show_percent
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.show.report import ResultView, list_bars
from lens_engine.show.ways import list_ways
from tests.formed import take_form
from tests.unit.lens_cli.results import CONTENDERS, ESTIMATE, JUDGED, RIVAL, make_answer, make_contender, make_result
from tests.unit.lens_engine.show.test_verdict import make_untested

MARK = "* on the rows that judged it, not corrected for choosing"
LARGEST = JUDGED.model_copy(update={"largest_class": 0.21})
RANDOM = tuple(make_contender(f"random {one}", "random", rows=(one,)) for one in (1, 2))


def expecting(answer: SupportExamples, accuracy: float, **more: Any) -> SupportExamples:
    estimate = ESTIMATE.model_copy(update={"accuracy": accuracy, "largest_class": 0.2})
    return answer.model_copy(update={"estimate": estimate, **more})


def make_formed() -> SelectionResult:
    """Four choices with an estimate each, beside contenders that were not chosen; figures of judging rows differ."""
    result = take_form(make_untested("prompt", contenders=CONTENDERS), nearest=8)
    answers = tuple(
        expecting(one, best, fixed=expecting(make_answer(one.use, test=None), fixed))
        for one, best, fixed in zip(result.support_examples, (0.65, 0.62), (0.46, 0.44), strict=True)
    )
    dropped = RANDOM[1].model_copy(update={"judged": RIVAL, "is_dropped": True})
    embedded = make_contender("embeddings", "embeddings", None, judged=RIVAL)
    contenders = (*result.contenders, RANDOM[0].model_copy(update={"judged": LARGEST}), dropped, embedded)
    return result.model_copy(update={"support_examples": answers, "contenders": contenders})


def test_every_choice_has_its_estimate_and_what_was_not_chosen_is_marked() -> None:
    assert {way.title: round(way.figure.accuracy, 3) for way in list_ways(make_formed())} == {
        "prompt, no examples *": 0.91,
        "prompt, random examples *": 0.883,
        "classifier of the model": 0.88,
        "counting words *": 0.8,
        "sentence embeddings *": 0.8,
        "prompt, 8 similar examples": 0.65,
        "prompt, 8 similar examples, corrected": 0.62,
        "prompt, 1 fixed example": 0.46,
        "prompt, 1 fixed example, corrected": 0.44,
        "always the most frequent label": 0.2,
    }


@pytest.mark.parametrize(
    "result",
    [
        make_formed(),
        make_formed().model_copy(update={"support_examples": 2 * make_formed().support_examples[:1]}),
        make_untested(),
        make_result(),
        make_result(first="prompt"),
        make_result(tested=make_untested().tested),  # stopped before the classifier was asked for the test rows
    ],
)
def test_box_chart_and_terminal_show_the_same_figures(result: SelectionResult) -> None:
    box, table = " ".join(sum((lines for _, lines in ResultView(result).box.lines), ())), draw_ways(result)
    titles = list(table.columns[0].cells)
    assert len(set(map(str, titles))) == len(titles)
    for bar in list_bars(result):
        if not bar.is_chosen:
            name, mark = bar.label.removeprefix("prompt, ").removesuffix(" *"), "*" * bar.label.endswith("*")
            assert f"{name} {show_percent(bar.value)}{mark}" in box
        shown = list(table.columns[1].cells)[titles.index(bar.label)]
        assert str(shown).endswith(f"{show_percent(bar.value)} %")
    assert any(str(title).endswith("*") for title in titles) != result.is_tested
    assert (table.caption == MARK, ResultView(result).accuracies.text == (MARK,)) == 2 * (not result.is_tested,)

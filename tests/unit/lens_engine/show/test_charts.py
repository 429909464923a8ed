"""Charts: well-formed, without styles, safe with any text, and with every figure in words."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from lens_engine.show.charts import Bar, draw_accuracies, fit_shares, list_ticks

HOSTILE = "<script>alert('1')</script> & \"x\""
BARS = [Bar("prompt", 0.905, 0.8561, 0.938, is_prompt=True, is_chosen=True), Bar("words", 0.86, 0.805, 0.901)]
RANDOM = Bar("random", 0.655, 0.5, 0.83)


def split(charts: Markup) -> list[Markup]:
    return [Markup(one) for one in re.findall("<svg.*?</svg>", charts, re.DOTALL)]


CHARTS = {
    "accuracies-narrow": split(draw_accuracies([*BARS, RANDOM]))[0],
    "accuracies-wide": split(draw_accuracies([*BARS, RANDOM]))[1],
}


def walk(chart: Markup) -> Iterator[ET.Element]:
    return ET.fromstring(chart).iter()


@pytest.mark.parametrize("name", CHARTS)
def test_chart_is_named_stays_within_its_frame_and_nothing_runs_through_a_name(name: str) -> None:
    root, *elements = walk(CHARTS[name])
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    ids = {element.attrib["id"] for element in elements if "id" in element.attrib}
    assert set(root.attrib["aria-labelledby"].split()) == ids == {f"{name}-title", f"{name}-figures"}
    assert root.attrib["role"] == "img"
    for element in elements:
        for point in element.attrib.get("points", "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
        assert 0 <= float(element.attrib.get("x", 0)) <= width
        assert 0 <= float(element.attrib.get("y", 0)) <= height
    texts = [(one.attrib["class"], *(float(one.attrib[at]) for at in "xy")) for one in elements if one.tag == "text"]
    ticks = [place for kind, *place in texts if kind == "tick"]
    meet = [(a, b) for a, b in combinations(ticks, 2) if abs(a[0] - b[0]) < 20 and abs(a[1] - b[1]) < 10]
    lines = [one.attrib["points"].split() for one in elements if one.attrib.get("class") == "grid"]
    spans = [[float(point.split(",")[1]) for point in one] for one in lines]
    names = [y for kind, x, y in texts if x == 0 and kind in ("", "chosen")]
    assert (meet, [y for y in names for top, bottom in spans if top < y < bottom]) == ([], [])


@pytest.mark.parametrize("name", CHARTS)
def test_chart_has_no_style_of_its_own(name: str) -> None:
    assert {"style", "fill", "stroke"} & {key for element in walk(CHARTS[name]) for key in element.attrib} == set()
    assert not re.search("<style|<script|href", CHARTS[name])


def describe(chart: Markup) -> str:
    return next(element.text or "" for element in walk(chart) if element.tag == "desc")


def test_figures_are_told_in_words() -> None:
    told = "prompt: 91 % (86–94), chosen; words: 86 % (81–90); random: 66 % (50–83)"
    assert [describe(chart) for chart in CHARTS.values()] == [told, told]


def test_texts_are_escaped_and_long_names_cut() -> None:
    charts = (
        *split(draw_accuracies([Bar(HOSTILE, 0.5, 0.4, 0.6)], name="a")),
        *split(draw_accuracies([Bar(HOSTILE + "x" * 99, 0.5, 0.4, 0.6)], name="b")),
    )
    for chart in charts:
        assert not {element.tag for element in walk(chart)} & {"script", "img"}
        assert all(len(element.text or "") <= 64 for element in walk(chart) if element.tag == "text")


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_charts_take_little(value: float) -> None:
    assert draw_accuracies([Bar("x", value, value, value)])


SHARES = st.lists(st.floats(0, 1), max_size=8)


@given(SHARES)
def test_shares_fit_within_nought_and_one(values: list[float]) -> None:
    axis = fit_shares(values, 8, 230)
    assert 0 <= axis.low < axis.high <= 1
    assert axis.high - axis.low >= 0.1 - 1e-9
    assert all(axis.low <= value <= axis.high for value in values)
    assert all(8 <= axis.at(value) <= 230 for value in values)
    assert 1 <= len(axis.ticks) <= 7


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.5, 0.93, (0.5, 0.6, 0.7, 0.8, 0.9)),
        (0.84, 0.94, (0.84, 0.86, 0.88, 0.9, 0.92, 0.94)),
        (0, 203, (0, 50, 100, 150, 200)),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert list_ticks(low, high) == ticks

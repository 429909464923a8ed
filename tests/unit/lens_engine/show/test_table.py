"""Tables as text, as HTML and in a notebook."""

import re

import numpy as np
import pytest

from lens_engine.classifier.predictions import Predictions
from lens_engine.show.documents import write_fragment
from lens_engine.show.table import Table
from lens_engine.task.wording import shorten

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

"""Tables as text and HTML."""

import pytest

from lens_engine.views.html import write_paragraph, write_table
from lens_engine.views.table import Table, shorten

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
    page = write_table(TABLE)
    assert "<b>" not in page
    assert "<caption>Costs &amp; &lt;more&gt;</caption>" in page
    assert page.count("font-weight: bold") == 2
    assert "<tfoot>" in page
    assert write_paragraph("<i>", is_strong=True) == "<p><strong>&lt;i&gt;</strong></p>"


@pytest.mark.parametrize(
    ("text", "shown"), [("a\n  b", "a b"), ("x" * 72, "x" * 72), ("x" * 73, "x" * 71 + "…"), ("", "")]
)
def test_long_text_is_cut_and_has_one_line(text: str, shown: str) -> None:
    assert shorten(text) == shown

"""What a Markdown parser makes of texts of users: the same texts, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lens_engine.show.exports import write_cell

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PIECES = st.sampled_from([*"![]()*_`~<>#|\\&;:-+=.1a \n\t\"'", "&lt;", "http://", "www.", "<b>", "**", "é"])


def read(markdown: str) -> tuple[list[str], list[str]]:
    """The blocks of a document, and its texts; other marks than texts are named among these."""
    blocks = PARSER.parse(markdown)
    inline = [block for block in blocks if block.type == "inline"]
    texts = ["".join(one.content if one.type == "text" else f"<{one.type}>" for one in block.children or ())
             for block in inline]  # fmt: skip
    return [block.type for block in blocks if block.type.endswith("_open")], texts


def line(text: str) -> str:
    return " ".join(text.split())


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_read_as_it_is(text: str) -> None:
    blocks, texts = read(write_cell(text))
    assert texts == ([line(text)] if line(text) else [])
    assert blocks == ["paragraph_open"] * len(texts)


@pytest.mark.parametrize(
    "text",
    [
        "random_and_validation is 12.5 % (p = 0.03), isn't it? Yes: R&D!",
        "-0.0123 + 0.5 = x; C# is #1",
        "(a) 2024-01-05 10:30, a/b, {text} @ 5 = 3",
    ],
)
def test_ordinary_sentence_is_left_as_it_is(text: str) -> None:
    assert write_cell(text) == text


def test_no_character_of_html_is_left() -> None:
    assert write_cell('> a "b" <i x="1">') == "&gt; a &quot;b&quot; &lt;i x=&quot;1&quot;&gt;"


def test_address_is_no_link_on_github() -> None:
    assert write_cell("see https://evil.example or www.evil.example") == (
        "see https:\\//evil.example or www\\.evil.example"
    )

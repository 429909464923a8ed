"""Terms of texts: words, and characters in a row where a script has no spaces."""

import re
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lens_engine.reading.columns import has_header
from lens_engine.rows.near_texts import count_near
from lens_engine.task.text_checks import count_unspaced, list_terms
from lens_engine.types import Example
from tests.unit.lens_engine.retrieval.odd_texts import TEXTS


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("退款, 退", ["退", "款", "退款", "退"]),
        ("我的iPhone 12手机", ["iphone", "0", "iphone 0", "ipho*", "我", "的", "我的", "手", "机", "手机"]),
        ("３个", ["0", "个"]),
        ("ペン・ｶﾞ", ["ペ", "ン", "ペン", "ｶ", "ﾞ", "ｶﾞ"]),
        ("กิน ๑๒", ["0", "ก", "ิ", "น", "กิ", "ิน", "กิน"]),
        ("ເງິນ", ["ເ", "ງ", "ິ", "ນ", "ເງ", "ງິ", "ິນ", "ເງິ", "ງິນ"]),
        ("ငွေ၊", ["င", "ွ", "ေ", "ငွ", "ွေ", "ငွေ"]),
        ("លុយ។", ["ល", "ុ", "យ", "លុ", "ុយ", "លុយ"]),
        ("𠮷野", ["𠮷", "野", "𠮷野"]),
        ("환불 요청이 안녕하세요", ["환불", "요청이", "안녕하세요", "환불 요청이", "요청이 안녕하세요", "안녕하세*"]),
    ],
)
def test_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert list_terms(text) == terms


@given(st.one_of(TEXTS, st.text("aZé9٣_-'! \nжשع한नि", max_size=40)))
def test_texts_with_spaces_have_words(text: str) -> None:
    assume(not count_unspaced(text))
    words = re.findall(r"\b\w+\b|^\W+$", re.sub(r"\b[^\W\d]*\d\w*", "0", text.lower()))
    pairs = [" ".join(pair) for pair in pairwise(words)]
    assert list_terms(text) == [*words, *pairs, *(f"{word[:4]}*" for word in words if len(word) > 4)]


def test_near_texts_without_spaces_are_found() -> None:
    text = "我上周订购的包裹到现在还没有送到我家里"
    asked = [Example(0, text.replace("现", "昨"), "a"), Example(1, "我上周订购的手机用信用卡付款失败了", "a")]
    assert count_near(asked, [Example(2, text, "b")]) == 1


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        (["评论内容"], True),
        (["我的包裹还没有到，请帮我看看。"], False),
        (["包裹还没到。", "b"], False),
        (["内容", "b"], True),
    ],
)
def test_sentence_without_spaces_is_no_header(first: list[str], is_header: bool) -> None:
    rows = [["我要退款，谢谢", "a"][: len(first)], ["订单在哪里？", "c"][: len(first)]]
    assert has_header(first, rows, []) is is_header

import re
import sys
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lens_engine.errors import InvalidVerbalizer
from lens_engine.files.columns import has_header
from lens_engine.prompt.template import Task
from lens_engine.prompt.text_checks import (
    MAX_MARKS,
    canonical_form,
    count_unspaced,
    fold_text,
    has_long_run,
    list_terms,
)
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.cleaning import count_near
from lens_engine.types import Example
from tests.unit.lens_engine.prompt.odd_texts import TEXTS

SLOW = "a" + "\u0301" * 50_000 + "\u0323" * 50_000
"""Python normalises this text in half a minute."""

REAL_TEXTS = {
    "Vietnamese": "Tiếng Việt rất hay, nhưng ngữ pháp không dễ chút nào.",
    "Hebrew, with points and cantillation": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם וְאֵ֥ת הָאָֽרֶץ׃",
    "Arabic, vocalised": "بِسْمِ ٱللَّهِ ٱلرَّحْمَـٰنِ ٱلرَّحِيمِ ۝ ٱلْحَمْدُ لِلَّهِ",
    "Hindi": "क्षत्रिय विद्यार्थियों ने स्वतंत्रता की लड़ाई में हिस्सा लिया।",
    "Thai": "น้ำใจที่ยิ่งใหญ่ ผู้ใหญ่บ้านนั้นซื้อที่ดินกว้างกว่าเดิม",
    "Tibetan": "བོད་སྐད་ནི་སྙན་པོ་ཡིན། རྫོགས་པ་ཆེན་པོ།",
    "Burmese": "မြန်မာဘာသာစကားသည် တရုတ်-တိဘက်ဘာသာစကား မိသားစုဝင်ဖြစ်သည်။",
    "Korean": "한국어는 조사와 어미가 발달한 언어입니다.",
    "Japanese, halfwidth": "ｶﾞｷﾞｸﾞ ｱｱｱﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞﾞ",
    "Yoruba": "Ẹ̀kọ́ ọ̀rọ̀ Yorùbá ṣe pàtàkì gan\u0301-an\u0300.",
    "phonetic": "ʔa\u0303\u0301\u0330\u031f n\u0329\u030d t\u032a\u0346\u02b0",
    "emoji": "👩🏽‍🚒👨‍👩‍👧‍👦🏳️‍🌈🇩🇪1️⃣❤️‍🔥" * 20,
    "mathematical letters": "𝓯𝓪𝓷𝓬𝔂 " + "𝐛𝐨𝐥𝐝" * 20,
    "struck through": "".join(f"{letter}\u0336" for letter in "this was a mistake"),
    "a little Zalgo": "H" + "\u0301\u0323\u0336" * 10 + "e",
}


@pytest.mark.parametrize("text", REAL_TEXTS.values(), ids=REAL_TEXTS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_real_text_has_no_long_run_and_is_normalised(text: str, form: str) -> None:
    written = unicodedata.normalize(form, text)  # type: ignore[arg-type]

    assert not has_long_run(written)
    assert canonical_form(written) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("mark", ["\u0301", "\u05b0", "\u0e48", "\u3099", "\U0001d165", "\u0f73"])
@pytest.mark.parametrize("before", ["", "a", "𝐛"])
def test_run_is_long_from_the_31st_mark_on(mark: str, before: str) -> None:
    assert not has_long_run(before + mark * MAX_MARKS + "b" + mark * MAX_MARKS)
    assert has_long_run(before + mark * (MAX_MARKS + 1))


def test_every_mark_of_unicode_is_known() -> None:
    """Also the characters that only decompose into marks."""
    characters = (chr(code) for code in range(sys.maxunicode + 1))
    marks = [one for one in characters if unicodedata.combining(unicodedata.normalize("NFD", one)[0])]

    assert len(marks) > 900
    assert [mark for mark in marks if not has_long_run(mark * (MAX_MARKS + 1))] == []


HIDDEN = (
    "A  warm film",
    "a\u00a0warm film\n",
    "a w\u00ada\u200brm\u2060 film\ufe0f",
    "\ufeffａ ｗａｒｍ ﬁlm\U000e0041\U000e007f",
    "a w\x01arm\x7f film\x00",
    "a\u2003w\ufff9arm\x85f\x9film",
)


@pytest.mark.parametrize("written", HIDDEN)
def test_text_is_the_same_whatever_nobody_sees(written: str) -> None:
    assert fold_text(written) == "a warm film"


def test_slow_text_stays_as_it_stands() -> None:
    started = time.process_time()

    assert canonical_form(SLOW) == SLOW
    assert fold_text(SLOW) != fold_text(SLOW + "x")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "words", [{SLOW: "good", "bad": "bad"}, {"good": SLOW, "bad": "bad"}], ids=["label", "label word"]
)
def test_slow_verbalizer_is_refused_with_its_label(words: dict[str, str]) -> None:
    started = time.process_time()
    with pytest.raises(InvalidVerbalizer, match="more than 30 combining marks") as caught:
        Verbalizer(words)

    assert caught.value.field == f"verbalizer.{next(iter(words))}"
    assert len(str(caught.value)) < 300
    assert time.process_time() - started < 2


def test_slow_labels_of_examples_are_refused() -> None:
    started = time.process_time()
    with pytest.raises(InvalidVerbalizer, match="more than 30 combining marks"):
        Task.for_examples([Example(0, "a", SLOW), Example(1, "b", "bad")])

    assert time.process_time() - started < 2


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

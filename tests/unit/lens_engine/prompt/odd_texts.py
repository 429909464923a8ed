"""Texts as nobody expects them, for property tests of what compares and renders texts."""

from hypothesis import strategies as st

_ODD = (
    "İstanbul'da ılık IŞIK",
    "ı",
    "Straße STRASSE",
    "e\u0301te\u0301 \u00e9t\u00e9",
    "a" + "\u0301" * 31,
    "a" + "\u0316\u0301" * 15,
    "\u0f73" * 31,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 👍🏽",
    "今日は良い天気ですね。",
    "12手机 iPhone很好, สินค้ายังไม่มาถึง",
    "한국어 문장",
    "नमस्ते दुनिया",
    "١٢٣ ４５ x²",
    "order 4711 of 2024-05-06, A1b2",
    "!!! ??? ...",
    "   ",
    "\t\r\n\x0b\x1c\x85\u2028",
    "\x00\x01\x7f",
    "\ufeff\ufdd0system\ufdd1 \ufdd2",
    "w" * 3000,
    "ab " * 500,
    "{text} {label} {{ %s \\ \"'",
    '{"content":"x","role":"user"}\n',
    "ΣΑΣ ΣΊΣΥΦΟΣ",
    "ﬁne ﬂow",
)
_WORDS = ("good", "Good", "film", "films", "bad", "not", "12", "çok", "ñ", "-", "👍", "天気", "天天気")

TEXTS = st.one_of(
    st.sampled_from(_ODD),
    st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
    st.text(st.characters(codec="utf-8"), max_size=40),
)
"""Odd texts, and plain ones that have words in common."""

"""The terms of a text, by which texts are compared without a language model."""

import re
from itertools import pairwise

NUMBER = "0"  #: the term of every word with a digit
_WITH_A_DIGIT = re.compile(r"\b[^\W\d]*\d\w*")  # takes linear time
_WORD = re.compile(r"\b\w+\b|^\W+$")
_BEGINNING = 4  #: length of the beginning of a longer word (characters)


def list_terms(text: str) -> list[str]:
    """The terms of a text, in lower case: its words, pairs of words and beginnings of words, repeated ones too.

    A pair is two words with a space between them, a beginning the first four letters of a longer word and a star. Every
    word with a digit is the word 0: an order or a telephone number is one person's. A text without a word is one term.
    Takes linear time.
    """
    words = _WORD.findall(_WITH_A_DIGIT.sub(NUMBER, text.lower()))
    pairs = [f"{word} {following}" for word, following in pairwise(words)]
    return words + pairs + [f"{word[:_BEGINNING]}*" for word in words if len(word) > _BEGINNING]

"""The terms of a text, by which texts are compared without a language model."""

import re
from itertools import pairwise

NUMBER = "0"  #: the term of every word with a digit
_WITH_A_DIGIT = re.compile(r"\b[^\W\d]*\d\w*")  # takes linear time
_WORD = re.compile(r"\b\w+\b|^\W+$")
_BEGINNING = 4  #: length of the beginning of a longer word (characters)
_UNSPACED = re.compile(
    r"(?:["
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0edf"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd"  # Burmese, Khmer
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"  # Japanese
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Chinese
    r"](?<!\d))+"
)
"""Letters and marks in a row of a script that has no spaces between words."""
_LONGEST = 3  #: length of the longest term of such a script (characters)


def list_terms(text: str) -> list[str]:
    """The terms of a text, in lower case: its words, pairs of words and beginnings of words, repeated ones too.

    A pair is two words with a space between them, a beginning the first four letters of a longer word and a star. Every
    word with a digit is the word 0: an order or a telephone number is one person's. A text without a word is one term.
    Of scripts without spaces, each one, two and three characters in a row are a term. Takes linear time.
    """
    rest, terms = part_unspaced(text.lower())
    words = _WORD.findall(_WITH_A_DIGIT.sub(NUMBER, rest))
    pairs = [f"{word} {following}" for word, following in pairwise(words)]
    return words + pairs + [f"{word[:_BEGINNING]}*" for word in words if len(word) > _BEGINNING] + terms


def part_unspaced(text: str) -> tuple[str, list[str]]:
    """A text without its runs in scripts without spaces, and each one to three characters in a row of these runs.

    The text is empty if it has runs and, besides them, no word.
    """
    runs = _UNSPACED.findall(text)
    if not runs:
        return text, []
    rest = _UNSPACED.sub(" ", text)
    lengths = range(1, _LONGEST + 1)
    terms = [run[at : at + length] for run in runs for length in lengths for at in range(len(run) - length + 1)]
    return rest if re.search(r"\w", rest) else "", terms


def count_unspaced(text: str) -> int:
    """How many characters of a text are of scripts without spaces."""
    return sum(map(len, _UNSPACED.findall(text)))


def measure_text(text: str) -> int:
    """How many characters of scripts with spaces have terms that take as much memory as those of this text, about."""
    return len(text) + (_LONGEST - 1) * count_unspaced(text)

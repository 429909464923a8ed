"""Checks of a single string, and lists of names in messages."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from lens_engine.prompt.wording import show_label

MAX_MARKS = 30
"""Largest number of combining marks in a row."""

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees: those that Unicode calls default-ignorable."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufff9-\ufffb]")

_NUM_CODE_POINTS = 0x20000
"""All combining marks are in the first two planes of Unicode."""
_MARKS_BY_DECOMPOSITION = "\u0f73\u0f75\u0f81"
"""Tibetan vowels that are no marks of their own, but decompose into marks."""


# Normalising sorts each run of combining marks, and Python's sort takes quadratic time: a text of 20,000 marks takes
# more than a second, in which no other thread runs. So a longer run than Unicode's Stream-Safe Text Format allows (UAX
# #15, section 13) is never normalised. No script needs such a run.
def has_long_run(text: str) -> bool:
    """Whether more than `MAX_MARKS` combining marks follow each other. Takes linear time."""
    if text.isascii():
        return False
    maybe, surely = _long_runs()
    return maybe.search(text) is not None and surely.search(text) is not None


def canonical_form(text: str) -> str:
    """The text in NFC; as it stands if it has a long run of combining marks. Takes linear time."""
    return text if has_long_run(text) else unicodedata.normalize("NFC", text)


def fold_text(text: str) -> str:
    """The text or label without case, Unicode form, width, invisible characters, control characters beside others, and
    outer and repeated spaces: two with one such form are the same text, or spellings of one label.
    """
    return _fold(_CONTROLS.sub("", text)) or _fold(text)


def _fold(text: str) -> str:
    if text.isascii():
        return " ".join(text.casefold().split())
    if not has_long_run(text):
        text = unicodedata.normalize("NFKC", text)
    folded = canonical_form(INVISIBLE.sub("", text).casefold())  # a folded text may lose its form
    return " ".join(folded.split())


@cache
def _long_runs() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A quick pattern, which takes every character of the second plane for a mark, and an exact one.

    `re` looks up a character of the first plane in a table, but compares others with each entry of a class: the exact
    pattern is 15 times as slow.
    """
    marks = "".join(filter(unicodedata.combining, map(chr, range(_NUM_CODE_POINTS)))) + _MARKS_BY_DECOMPOSITION
    of_first_plane = "".join(mark for mark in marks if mark < "\U00010000")
    quick, exact = f"[{of_first_plane}\U00010000-\U0001ffff]", f"[{marks}]"
    # `re` finds a first character much faster than the first of a repetition.
    return re.compile(f"{quick}{quick}{{{MAX_MARKS}}}"), re.compile(f"{exact}{exact}{{{MAX_MARKS}}}")


MAX_SHOWN = 10
"""Largest number of names or rows in one message."""

NUL = "\x00"
SURROGATE = re.compile("[\ud800-\udfff]")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]")


def is_blank(value: str | None) -> bool:
    """Whether a value is None or invisible: only spaces and characters that nobody sees."""
    if value is None or not value.strip():
        return True
    # Fast path: spaces, controls and invisible characters are never alphanumeric.
    return not value[0].isalnum() and not fold_text(value)


def find_fault(value: str, max_characters: int) -> str | None:
    """Why a value cannot be used, as a sentence without its subject (the column); None if it can be used."""
    if len(value) > max_characters:
        return f"is longer than {max_characters:,} characters; shorten it"
    if NUL in value:
        return "holds a NUL character (U+0000); remove it, or save the file as UTF-8 if it is UTF-16"
    if SURROGATE.search(value):
        return "holds half of a surrogate pair (U+D800 to U+DFFF), which is no character; remove it"
    if has_long_run(value):
        return f"has more than {MAX_MARKS} combining marks (accents) in a row, which no script needs; remove them"
    return None


def replace_unstorable(cell: Any) -> Any:
    """The value, with U+FFFD for each character that no store keeps: NUL, and half of a surrogate pair.

    A list or an object is the same object if it holds none, and a copy otherwise.
    """
    if isinstance(cell, str):
        return cell if cell.isascii() and NUL not in cell else UNSTORABLE.sub("\ufffd", cell)
    if isinstance(cell, list):
        items = [replace_unstorable(item) for item in cell]
        return items if items != cell else cell
    if isinstance(cell, dict):
        members = {replace_unstorable(name): replace_unstorable(item) for name, item in cell.items()}
        return members if members != cell else cell
    return cell


def show_places(places: Sequence[str], number: int = 0) -> str:
    """The first of lines or rows, and how many more there are of `number`."""
    more = max(number, len(places)) - MAX_SHOWN
    return ", ".join(places[:MAX_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def show_names(names: Sequence[str]) -> str:
    """The first names, and the number of further names."""
    shown = ", ".join(show_label(name) for name in names[:MAX_SHOWN])
    return f"{shown} and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else shown


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

"""Whether the first line of a table names its columns, or is a row."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import mean

from lens_engine.reading.columns import POSITION, fold_name, is_usual
from lens_engine.task.unicode_form import fold_label

_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?%?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b.*")
"""A number or a date: what a header rarely is, and rows often are."""
_NEARLY_ALL = 0.9
_LONGEST_LABEL = 100
_END_OF_SENTENCE = re.compile(r"[.!]\W*\Z")
_WORDS_OF_SENTENCE = 5


def name_positions(width: int) -> tuple[str, ...]:
    """The names of the columns of a table without a header."""
    return tuple(f"column {place}" for place in range(1, width + 1))


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]], known: Sequence[str]) -> bool:
    """Whether the first record is a header.

    Args:
        rows: the next records, as wide as the first.
        known: names of columns that the caller knows.
    """
    if not rows or any(fold_name(name) in map(fold_name, first) for name in known):
        return True
    if list(first) in list(map(list, rows)):  # files were joined, each with its header
        return any(map(is_usual, first))
    columns = list(zip(*rows, strict=True))
    named = [values for name, values in zip(first, columns, strict=True) if name.strip() and not _is_number(name)]
    if any(map(_are_numbers, named)):
        return True
    if any(_is_value(place, first, values) for place, values in enumerate(columns)):
        return False
    if any(map(is_usual, first)):
        return True
    if any(map(POSITION.fullmatch, known)):
        return False
    if len(first) == 1:
        return not _is_sentence(first[0]) or len(first[0]) < mean(map(len, columns[0])) / 2
    return not any(one.rstrip().endswith((".", "!")) and _is_sentence(one) for one in first)


def _is_sentence(text: str) -> bool:
    """Whether it has five words, or two and an end."""
    words = text.split(None, _WORDS_OF_SENTENCE)
    return len(words) >= _WORDS_OF_SENTENCE or (len(words) > 1 and _END_OF_SENTENCE.search(text[-20:]) is not None)


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value.strip()) is not None


def _is_value(place: int, first: Sequence[str], values: Sequence[str]) -> bool:
    """Whether a field of the first record is a value of its column: a number among numbers, or a frequent label."""
    one = first[place]
    if _is_number(one):
        return _are_numbers(values)
    if not one.strip() or len(one) > _LONGEST_LABEL or any(is_usual(name) for name in first if name is not one):
        return False
    counts = Counter(map(fold_label, values))
    return counts[fold_label(one)] > 1 and 2 * len(counts) <= len(values)


def _are_numbers(values: Sequence[str]) -> bool:
    filled = [value for value in values if value.strip()]
    return bool(filled) and sum(map(_is_number, filled)) >= _NEARLY_ALL * len(filled)

"""A prompt for a language model, with the labelled rows that are most like its input.

Written by Lens. It needs Python 3.9 or newer, the file pool.json beside it, and nothing else:

    render("a text")  # the prompt, up to the label word; or the messages of a chat, the system message first
    find("a text")    # the rows that were found for it, the most similar last

The first call reads the file and indexes its rows; this takes a second for 10,000 rows. The prompts are those that Lens
evaluated, byte for byte, as long as this release of Python knows all characters. Lens cuts texts that are far longer
than those of its dataset; this module does not.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import Any

from lens_engine.task.terms import list_terms, measure_text

POOL = Path(__file__).with_name("pool.json")

MOST_TERMS = 200_000  # by which rows are found
MOST_CHARACTERS = 4_000_000  # of all rows together that are read for terms
MOST_MARKS = 30  # combining marks in a row; a text with more is compared as it is
ONE = 1 << 24  # the weight 1: weights are whole numbers, so that their sums are exact
INVISIBLE = dict.fromkeys(
    code
    for start, end in (
        *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
        *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
        *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    )
    for code in range(start, end + 1)
)  # characters that nobody sees
NONCHARACTERS = dict.fromkeys((0xFDD0, 0xFDD1, 0xFDD2), 0xFFFD)  # which Lens replaces: they are marks of its own


def render(text: str) -> str | list[dict[str, str]]:
    """The prompt for a text, up to the label word; of a chat, its messages."""
    prompt, found = load()[0], find(text)
    if isinstance(prompt["beginning"], str):
        shown = "".join(write_query(row["text"]) + prompt["ends"][row["label"]] for row in found)
        return f"{prompt['beginning']}{shown}{write_query(text)}"
    messages = [dict(message) for message in prompt["beginning"]]
    for row in found:
        messages.append({"role": "user", "content": write_query(row["text"])})
        messages.append({"role": "assistant", "content": prompt["ends"][row["label"]]})
    return [*messages, {"role": "user", "content": write_query(text)}]


def find(text: str) -> list[dict[str, Any]]:
    """The rows that are most like a text, the most similar last: row, text, label and similarity (0 to 1) of each."""
    prompt, rows, index, shown = load()
    found = index.nearest(text, prompt["nearest"], shown)
    return [{**rows[place], "similarity": similarity} for place, similarity in reversed(found)]


def write_query(text: str) -> str:
    """A text as it stands in the prompt, up to the label word."""
    before, after = load()[0]["around_text"]
    return f"{before}{text.translate(NONCHARACTERS)}{after}"


@cache
def load() -> tuple[dict[str, Any], list[dict[str, Any]], Index, set[int]]:
    """The prompt, the rows, their index, and the places of the rows that every prompt shows."""
    prompt = json.loads(POOL.read_text(encoding="utf-8"))
    rows = prompt.pop("rows")
    shown = {place for place, row in enumerate(rows) if row["row"] in prompt["fixed"]}
    return prompt, rows, Index([row["text"] for row in rows]), shown


class Index:
    """Texts by their terms. Similarity is the cosine of TF-IDF vectors."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.num_texts = len(texts)
        self.most = share_characters(texts)  # characters of a text that are read
        self.equals: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            self.equals.setdefault(normalise(text), []).append(place)
        found = [Counter(list_terms(text[: self.most])) for text in texts]
        num_rows = Counter(term for terms in found for term in terms)
        kept = sorted(num_rows, key=lambda term: -num_rows[term])[:MOST_TERMS]
        self.postings: dict[str, list[int]] = {term: [] for term in kept}  # place and weight of each row, in turn
        for place, terms in enumerate(found):
            for term, weight in self.weigh(terms, num_rows):
                if term in self.postings:
                    self.postings[term] += (place, weight)
        self.num_rows = {term: num_rows[term] for term in kept}

    def nearest(self, text: str, k: int, hidden: Collection[int] = ()) -> list[tuple[int, float]]:
        """Place and similarity of the `k` most similar texts, the most similar first; not those equal to the text."""
        scores = [0] * self.num_texts
        for term, weight in self.weigh(Counter(list_terms(text[: self.most])), self.num_rows):
            posting = self.postings.get(term, [])
            for place, other in zip(posting[::2], posting[1::2]):
                scores[place] += weight * other
        hidden = {*hidden, *self.equals.get(normalise(text), [])}
        places = (place for place in range(self.num_texts) if place not in hidden)
        best = nsmallest(k, places, key=lambda place: (-scores[place], place))
        return [(place, scores[place] / ONE**2) for place in best]

    def weigh(self, terms: Mapping[str, int], num_rows: Mapping[str, int]) -> list[tuple[str, int]]:
        """Each term of a text with its weight; a vector of weights has the length 1."""
        values = []
        for term, count in terms.items():
            idf = math.log((1 + self.num_texts) / (1 + num_rows.get(term, 0))) + 1
            values.append((1 + math.log(count)) * idf)
        length = math.sqrt(math.fsum(value * value for value in values))
        return [(term, int(value / length * ONE)) for term, value in zip(terms, values)]


def share_characters(texts: Sequence[str]) -> int | None:
    """The length to which texts are cut so that all have MOST_CHARACTERS together; None if they have no more."""
    left = MOST_CHARACTERS * sum(map(len, texts)) // max(sum(map(measure_text, texts)), 1)
    for place, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - place)
        if length > share:
            return share
        left -= length
    return None


def normalise(text: str) -> str:
    """What texts have in common that count as equal."""
    if not has_long_run(text):
        text = unicodedata.normalize("NFKC", text)
    text = text.translate(INVISIBLE).casefold()
    return " ".join((text if has_long_run(text) else unicodedata.normalize("NFC", text)).split())


def has_long_run(text: str) -> bool:
    """Whether more than MOST_MARKS combining marks follow each other."""
    run = 0
    for character in "" if text.isascii() else text:
        is_mark = unicodedata.combining(character) or character in "\u0f73\u0f75\u0f81"
        run = run + 1 if is_mark else 0
        if run > MOST_MARKS:
            return True
    return False

"""Labelled texts to measure with: synthetic ones of realistic lengths.

Speed depends on lengths, not on meaning, so the lengths are those of the paper's tasks. Examples show their
labels more or less clearly, so that demonstrations differ in quality and a search can find good ones.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from lab.paper_tasks import PAPER_TASKS
from lens_engine.prompt.template import Task
from lens_engine.types import Example

Corpus = Literal["reviews", "news", "articles"]
CORPORA: tuple[Corpus, ...] = get_args(Corpus)

_FEWEST_WORDS = 4


class _Style(NamedTuple):
    paper_task: str  #: task of the paper with the labels and the template
    template: int
    mean_words: float
    spread: float  #: standard deviation of the words, as a share of their mean


# With SmolLM2's tokenizer a demonstration of "reviews" has 28.4 tokens in the mean (SST-2: 28.4), of
# "news" 61 (AGNews: 61).
_STYLES: dict[Corpus, _Style] = {
    "reviews": _Style("sst-2", 1, mean_words=15.6, spread=0.55),
    "news": _Style("agnews", 0, mean_words=44.0, spread=0.25),
    "articles": _Style("dbpedia", 0, mean_words=39.0, spread=0.4),
}


def corpus_task(corpus: Corpus) -> Task:
    """Template and label words of the paper's task that the corpus imitates."""
    style = _STYLES[corpus]
    return PAPER_TASKS[style.paper_task].task(style.template)


def generate_examples(corpus: Corpus, count: int) -> list[Example]:
    """`count` examples with different texts, the labels in turn. The first rows do not depend on `count`."""
    rng = np.random.default_rng([0, CORPORA.index(corpus)])
    labels = corpus_task(corpus).labels
    texts: dict[str, None] = {}
    while len(texts) < count:
        texts.setdefault(_write_text(corpus, labels[len(texts) % len(labels)], rng))
    return [Example(row, text, labels[row % len(labels)]) for row, text in enumerate(texts)]


@cache
def _vocabulary() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))


def _write_text(corpus: Corpus, label: str, rng: np.random.Generator) -> str:
    """Clauses, until the text has the length that was drawn."""
    style = _STYLES[corpus]
    shape = style.spread**-2
    target = max(rng.gamma(shape, style.mean_words / shape), _FEWEST_WORDS)
    clarity = rng.uniform(0.4, 1.0)
    words: list[str] = []
    while len(words) < target:
        joint = rng.choice([",", ", and", ", but", ";"]) if words else ""
        words = f"{' '.join(words)}{joint} {_write_clause(corpus, label, clarity, rng)}".split()
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def _write_clause(corpus: Corpus, label: str, clarity: float, rng: np.random.Generator) -> str:
    words = _vocabulary()
    signals = words[corpus]["signals"]
    told = label if rng.random() < clarity else rng.choice(list(signals))
    return str(rng.choice(words[corpus]["clauses"])).format(
        signal=rng.choice(signals[told]),
        thing=rng.choice(words["thing"]),
        people=rng.choice(words["people"]),
        place=rng.choice(words["place"]),
        number=rng.integers(20, 100),
    )

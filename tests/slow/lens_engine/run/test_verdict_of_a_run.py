"""What the sentences of a result may say of what the run has measured, and what they may not."""

from collections.abc import Sequence
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
import pytest
from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.model.base import Prefix
from lens_engine.presets import resolve_config
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.result.headline import list_headlines
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.show.documents import write_fragment, write_html
from lens_engine.show.report import ResultView
from lens_engine.show.verdict import say_decision
from lens_engine.testing import StatesTableScorer
from lens_engine.types import Example, States

OPTIONS = {"search.sets": 4, "search.forms": "fixed", "rows.search": 0, "classifier.embeddings": None}
BY_F1 = {"objective": "macro_f1"}
WORDS = {"classifier": {"kind": "bag_of_words"}}
NONE = {"classifier": {"kind": "none"}}


class Shares(NamedTuple):
    """Right answers of each contender, in per cent of the judging rows, and of the test rows."""

    prompt: tuple[int, int] = (50, 50)
    states: tuple[int, int] = (50, 50)
    words: tuple[int, int] = (50, 50)
    alone: tuple[int, int] = (50, 50)  #: the model without examples


class KnowingScorer(StatesTableScorer):
    """Prompts, the model alone, and its states are right where a text says so."""

    def __init__(self) -> None:
        super().__init__(lambda *pair: -0.1 if knows("prompt" if pair[0] else "alone", pair[1], pair[2]) else -3.0)

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        found = super().states(prefix, queries, layers)
        found[..., 0] += [8.0 if knows("states", query, "odd") else -8.0 for query in queries]
        return found


def knows(contender: str, text: str, answer: str) -> bool:
    is_odd = int(text.split()[0].removeprefix("day")) % 2 == 1
    return (("odd" in answer) == is_odd) == (f"{contender}knows" in text)


def make_rows(shares: Shares, part: int, count: int) -> list[Example]:
    rng = np.random.default_rng(part)
    right = {name: rng.permutation(count) * 100 < one[part] * count for name, one in shares._asdict().items()}
    word = np.where(right.pop("words") == np.arange(count) % 2, "sunny", "rainy")
    flags = [" ".join(f"{name}knows" for name, know in right.items() if know[row]) for row in range(count)]
    texts = [f"day{1000 * part + row} {word[row]} {flags[row]}" for row in range(count)]
    return [Example(row, text, "odd" if row % 2 else "even") for row, text in enumerate(texts)]


def in_command(result: SelectionResult) -> str:
    file = StringIO()
    show_result(result, Console(file=file, width=400))
    return file.getvalue()


@pytest.mark.parametrize(
    ("shares", "options", "first", "told", "recommended"),
    [
        (Shares(prompt=(60, 60), states=(90, 90)), {}, "classifier", "(108 of 120 test texts", False),
        (Shares(prompt=(60, 60), states=(90, 90)), BY_F1, "classifier", "(108 of 120 test texts", False),
        (Shares(prompt=(95, 90), states=(60, 60)), {}, "prompt", "(108 of 120 test texts", True),
        (Shares(words=(90, 80)), WORDS, "words", "(96 of 120 test texts", False),
        (Shares(words=(100, 100), states=(100, 100)), {}, "words", "Count words; you need no language model.", False),
        (Shares(prompt=(90, 60), alone=(60, 90)), NONE, "prompt", "(72 of 120 test texts", True),
    ],
)
def test_verdict_names_the_first_choice_with_the_figure_of_the_test_rows(
    shares: Shares, options: dict[str, Any], first: str, told: str, recommended: bool | None
) -> None:
    problem = Problem(Task.for_labels(["even", "odd"]), make_rows(shares, 0, 300), make_rows(shares, 1, 120))
    result = select_support_examples(
        problem, KnowingScorer(), resolve_config("quick", {**OPTIONS, **options}), progress=False
    )

    sentence = result.verdict.sentence
    assert result.first == first == list_headlines(result)[0].kind
    assert told in sentence
    assert result.answer.recommended is recommended
    view = ResultView(result)
    assert all(sentence in " ".join(one.split()) for one in (result.summary(), repr(result), in_command(result)))
    assert all(say_decision(result).weak in one for one in (write_html(view), write_fragment(view.choice)))
    assert ("Count words" in sentence) == (first == "words")

"""What the sentences of a result may say of what the run has measured, and what they may not."""

from collections.abc import Sequence
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
import pytest
from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.classifier.quality import compare_hits
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import resolve_config
from lens_engine.result import SelectionResult
from lens_engine.result.headline import list_headlines
from lens_engine.rows.problem import Problem
from lens_engine.scoring.base import Prefix
from lens_engine.show.documents import write_fragment, write_html
from lens_engine.show.report import ResultView
from lens_engine.task.template import Task
from lens_engine.testing import StatesTableScorer
from lens_engine.types import Example, States

OPTIONS = {"method": "random", "comparisons": "none", "splits": {"validation": 60, "confirmation": 40}}
BY_F1 = {"objective": "macro_f1"}
WORDS = {"classifier": {"kind": "bag_of_words"}}
NONE = {"classifier": {"kind": "none"}, "comparisons": "usual"}
NOTHING, CANNOT_TELL = "Use nothing of this run as it is: ", ": the test texts cannot tell which is better. "


class Shares(NamedTuple):
    """Right answers of each contender, in per cent of the rows that decide, and of the test rows."""

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
    ("shares", "options", "told", "recommended"),
    [
        (Shares(prompt=(100, 60), states=(90, 90)), {}, "Use the classifier: it is right for 108 of 120 ", False),
        (Shares(prompt=(100, 60), states=(90, 90)), BY_F1, "Use the classifier: it is right for 108 of 120 ", False),
        (Shares(prompt=(70, 90), states=(100, 60)), {}, "Use the prompt: it is right for 108 of 120 ", True),
        (Shares(prompt=(90, 85), states=(90, 90)), {}, f"Use the classifier or the prompt{CANNOT_TELL}", None),
        (Shares(prompt=(70, 90), states=(90, 85)), {}, f"Use the prompt or the classifier{CANNOT_TELL}", True),
        (Shares(prompt=(90, 90), words=(90, 85)), WORDS, f"Use the prompt or word counting{CANNOT_TELL}", True),
        (Shares(states=(98, 90), words=(85, 85)), {}, f"Use the classifier or word counting{CANNOT_TELL}", False),
        (Shares(words=(90, 80)), WORDS, "Word counting is right for 96 of 120 test texts (80 %); no other", False),
        (Shares(words=(100, 100), states=(100, 100)), {}, "You do not need a language model here: word", False),
        (Shares(prompt=(90, 60), alone=(60, 90)), NONE, f"{NOTHING}the prompt is right for 72 of 120 ", None),
        (Shares(states=(100, 60), words=(70, 90)), {}, f"{NOTHING}the classifier is right for 72 of 120 ", False),
    ],
)
def test_verdict_recommends_nothing_that_the_test_rows_show_as_clearly_worse(
    shares: Shares, options: dict[str, Any], told: str, recommended: bool | None
) -> None:
    problem = Problem(Task.for_labels(["even", "odd"]), make_rows(shares, 0, 300), make_rows(shares, 1, 120))
    result = select_support_examples(
        problem, KnowingScorer(), resolve_config("quick", {**OPTIONS, **options}), progress=False
    )

    sentence, answer, answers = result.verdict.sentence, result.answer, result.test_answers
    assert sentence.startswith(told)
    assert answer.recommended is recommended
    view = ResultView(result)
    shown = (result.summary(), repr(result), in_command(result), write_html(view), write_fragment(*view.sections))
    assert all(sentence in " ".join(one.split()) for one in shown)
    assert ("No label was checked: no classifier was made." in shown[-1]) == (not result.tested)
    compared = {one.name == "bag_of_words" for one in result.tested}
    assert ("need a language model" in sentence) <= (compared == {True, False})
    assert ("no other classifier was tried" in sentence) <= (compared == {True})
    if answers.classifier is not None and answers.support_examples[0] is not None:
        is_prompt = list_headlines(result)[0].kind == "prompt"
        prompt, other = (np.equal(one, answers.gold) for one in (answers.support_examples[0], answers.classifier))
        hits = compare_hits(*(prompt, other) if is_prompt else (other, prompt))
        assert hits.only_first >= hits.only_second
        assert answer.best is not None
        assert (answer.best.name == answer.method) == is_prompt

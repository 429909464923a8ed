"""Factories of the engine's tests. They hold no state, so they live as long as the session."""

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import Progress, SilentListener
from lens_engine.model.base import LabelScorer, Prefix
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.problem import Problem
from lens_engine.run.state import Checkpoint
from lens_engine.testing import TableScorer
from lens_engine.types import Example, Phase, StopReason

_SMALL: dict[str, Any] = {
    "num_demonstrations": 4,
    "rows": {"search": 60, "judging": 60, "test": 60},
    "filtering": {"keep": 24, "rounds": 3, "initial_score_size": 4, "max_score_size": 16},
    "search": {"beam_width": 4, "children": 4, "iterations": 3, "validation": 30, "sets": 8, "forms": ("fixed",)},
    "classifier": {"kind": "none"},
}


class RecordingListener:
    """Keeps what it hears, and asks to stop once it has heard `stop_after` times."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.seen: list[Progress] = []

    def on_progress(self, progress: Progress) -> None:
        self.seen.append(progress)

    def stop_requested(self) -> StopReason | None:
        is_over = self.stop_after is not None and len(self.seen) >= self.stop_after
        return StopReason.CANCELLED if is_over else None


class KeepingStore:
    """Keeps every checkpoint as bytes, and begins with one if given."""

    def __init__(self, first: bytes | None = None) -> None:
        self.first = first
        self.saved: list[bytes] = []

    def load(self) -> Checkpoint | None:
        return None if self.first is None else Checkpoint.from_bytes(self.first)

    def save(self, checkpoint: Checkpoint) -> None:
        self.saved.append(checkpoint.to_bytes())

    def of_each_phase(self) -> list[bytes]:
        """The checkpoint in the middle of those of each phase."""
        by_phase = dict[Phase, list[bytes]]()
        for data in self.saved:
            by_phase.setdefault(Checkpoint.from_bytes(data).phase, []).append(data)
        return [found[len(found) // 2] for found in by_phase.values()]


@pytest.fixture(scope="session")
def make_task() -> Callable[..., Task]:
    """A task whose label words are the labels in capitals."""

    def make(*labels: str, pattern: str = "{text} It was {label}.") -> Task:
        words = {label: label.upper() for label in labels or ("negative", "positive")}
        return Task(Template(pattern), Verbalizer(words))

    return make


@pytest.fixture(scope="session")
def task(make_task: Callable[..., Task]) -> Task:
    return make_task()


@pytest.fixture(scope="session")
def make_examples() -> Callable[..., list[Example]]:
    """The given number of examples of each label, the labels in turn, every text different."""

    def make(counts: Mapping[str, int], *, stem: str = "text", first_row: int = 0) -> list[Example]:
        left, labels = dict(counts), list[str]()
        while any(left.values()):
            for label in left:
                if left[label]:
                    left[label] -= 1
                    labels.append(label)
        return [Example(first_row + index, f"{stem} {index}", label) for index, label in enumerate(labels)]

    return make


@pytest.fixture(scope="session")
def make_config() -> Callable[..., SelectionConfig]:
    """A configuration small enough for a run of a tenth of a second; groups are laid over it."""

    def make(**options: Any) -> SelectionConfig:
        merged = dict(_SMALL)
        for name, value in options.items():
            merged[name] = {**merged.get(name, {}), **value} if isinstance(value, dict) else value
        return SelectionConfig.model_validate(merged)

    return make


@pytest.fixture(scope="session")
def make_listener() -> Callable[..., RecordingListener]:
    return RecordingListener


@pytest.fixture(scope="session")
def make_store() -> Callable[..., KeepingStore]:
    return KeepingStore


@pytest.fixture(scope="session")
def make_meter(task: Task) -> Callable[..., Meter]:
    """A meter over a TableScorer, without limits unless they are given."""

    def make(scorer: LabelScorer | None = None, **given: Any) -> Meter:
        usual: dict[str, Any] = {
            "label_spans": task.label_spans,
            "listener": SilentListener(),
            "budget": BudgetOptions(),
            "planned": Cost(10_000, 100_000),
        }
        return Meter(scorer=scorer or TableScorer(), **(usual | given))

    return make


@lru_cache(maxsize=10_000)
def _percent(name: str, text: str) -> float | None:
    found = re.search(rf"\b{name}(\d+)\b", text)
    return int(found[1]) / 100 if found else None


def planted_log_prob(prefix: Prefix, query: str, span: str) -> float:
    """The gold label wins where the demonstrations' mean quality exceeds the query's difficulty.

    The hidden quality of a demonstration and the difficulty of a query stand in their texts.
    """
    difficulty = _percent("difficulty", query)
    if difficulty is None:
        return math.log(0.5)
    qualities = [_percent("quality", demonstration) or 0.0 for demonstration in prefix]
    quality = sum(qualities) / len(qualities) if qualities else 0.0
    gold_share = 1.0 / (1.0 + math.exp(-6.0 * (quality - difficulty)))
    is_gold = ("sunny" in query) == (span.strip() == "POSITIVE")
    return math.log(gold_share if is_gold else 1.0 - gold_share)


@pytest.fixture(scope="session")
def make_planted_scorer() -> Callable[..., TableScorer]:
    """A scorer for planted problems."""

    def make(**given: Any) -> TableScorer:
        return TableScorer(planted_log_prob, **given)

    return make


@pytest.fixture(scope="session")
def make_planted_problem(task: Task) -> Callable[..., Problem]:
    """Examples of hidden quality: a tenth of them is far better than the rest."""

    def make(count: int = 240, seed: int = 0) -> Problem:
        rng = np.random.default_rng(seed)
        examples = list[Example]()
        for row in range(count):
            quality = int(rng.integers(85, 100) if rng.random() < 0.1 else rng.integers(5, 60))
            mood, label = ("sunny", "positive") if row % 2 else ("rainy", "negative")
            text = f"day{row} {mood} quality{quality} difficulty{int(rng.integers(0, 100))}"
            examples.append(Example(row, text, label))
        return Problem(task, examples)

    return make


@pytest.fixture(scope="session")
def problem(make_planted_problem: Callable[..., Problem]) -> Problem:
    return make_planted_problem()

"""A selection without a language model, its files, and the command's work on them."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path

from rich.console import Console

from lens_cli.evaluate.run import EvaluationRun
from lens_cli.select.sources import Sources
from lens_cli.subject_file import SubjectFile, WhatIsAsked
from lens_engine.config import SelectionConfig, Use
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.result import SelectionResult
from lens_engine.result.parts import EvaluationResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.unit.lens_cli.results import printed_on

LABELS = ("positive", "negative")
ROWS = tuple((f"Film {number}, a joy", LABELS[number % 2]) for number in range(240))
TASK = Task(Template("{text} It was {label}."), Verbalizer({"positive": "great", "negative": "terrible"}))
CONFIG = SelectionConfig.model_validate(
    {
        "num_demonstrations": 4,
        "labels": {"rare": "drop"},
        "rows": {"search": 0, "judging": 60},
        "search": {"sets": 4, "forms": ("fixed",)},
        "classifier": {"kind": "label_probabilities"},
    }
)


@cache
def select(*, with_test: bool = False, rows: tuple[tuple[str, str], ...] = ROWS) -> SelectionResult:
    """
    Args:
        with_test: whether the first 40 rows are a file of test rows.
    """
    examples = [Example(row, *pair) for row, pair in enumerate(rows)]
    test = examples[:40] if with_test else None
    return select_support_examples(Problem(TASK, examples[40:] if with_test else examples, test), TableScorer(), CONFIG)


@dataclass
class Workbench:
    """A folder with files of a selection; `scorers` are the models that runs have opened."""

    folder: Path
    scorers: list[TableScorer] = field(default_factory=list)
    opened: list[tuple[str, str]] = field(default_factory=list)  #: name and precision of each

    def write(self, rows: Sequence[tuple[str, str]], name: str = "new.csv", header: str = "text,label") -> Path:
        path = self.folder / name
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header.split(","), *rows])
        return path

    def save(self, result: SelectionResult) -> Path:
        path = self.folder / "result.json"
        path.write_text(result.model_dump_json())
        return path

    def save_classifier(self) -> Path:
        classifier = select().classifier
        assert classifier is not None
        classifier.save(self.folder / "classifier.json")
        return self.folder / "classifier.json"

    def run(
        self,
        judged: Path,
        dataset: Path,
        *,
        model: str | None = None,
        dtype: str | None = None,
        what: WhatIsAsked | None = None,
        use: Use | None = None,
        is_fixed: bool = False,
        scorer: Callable[[], TableScorer] = TableScorer,
    ) -> tuple[EvaluationResult, str]:
        """Do the command's work; what it found, and what it shows meanwhile."""

        def open_scorer(name: str, precision: str) -> TableScorer:
            self.opened.append((name, precision))
            self.scorers.append(scorer())
            return self.scorers[-1]

        console = Console(file=StringIO(), width=300)
        file = SubjectFile(judged, what, use, is_fixed=is_fixed)
        found = file.read()
        run = EvaluationRun.prepare(found, Sources(dataset, usual=found.classifier.input))
        result = run.execute(open_scorer, console, model, dtype)
        return result, printed_on(console)

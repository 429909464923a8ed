"""A classifier, files of texts, and the command without a language model."""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from lens_cli.classify.run import ClassificationRun, Paths
from lens_cli.subject_file import SubjectFile, WhatIsAsked
from lens_engine.testing import TableScorer
from tests.unit.lens_cli.results import CLASSIFIER, printed_on

CLASSIFIER = CLASSIFIER


def make_texts(number: int) -> list[str]:
    return [f"Film {index}, a joy" for index in range(number)]


@dataclass
class Workbench:
    """One folder with a classifier; `scorers` are the models that runs have opened."""

    folder: Path
    scorers: list[TableScorer] = field(default_factory=list)

    def __post_init__(self) -> None:
        CLASSIFIER.save(self.folder / "classifier.json")

    def paths(self, texts: Path, output: str = "predictions.csv") -> Paths:
        return Paths(texts, self.folder / "classifier.json", self.folder / output)

    def write(self, texts: Sequence[object], name: str = "new.jsonl") -> Path:
        """A file of texts in the format that its suffix names."""
        path = self.folder / name
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        else:
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([("id", "text"), *enumerate(texts)])
        return path

    def run(
        self,
        paths: Paths,
        *,
        before_call: Callable[[int], None] | None = None,
        max_prompt_tokens: int = 2048,
        text_column: str | None = "text",
        dtype: str | None = None,
        what: WhatIsAsked | None = None,
        is_fixed: bool = False,
        answer_above: float | None = None,
    ) -> str:
        """Run the command's work, and return what it shows on the console."""

        def open_scorer() -> TableScorer:
            self.scorers.append(TableScorer(before_call=before_call, max_prompt_tokens=max_prompt_tokens))
            return self.scorers[-1]

        console = Console(file=StringIO(), width=200)
        asked = SubjectFile(paths.classifier, what, is_fixed=is_fixed, usual="classifier", where="--classifier")
        run = ClassificationRun.prepare(paths, asked, text_column=text_column, dtype=dtype, answer_above=answer_above)
        run.execute(open_scorer, console)
        return printed_on(console)


def read_output(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV or JSONL file of predictions; the values of CSV are strings."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file))

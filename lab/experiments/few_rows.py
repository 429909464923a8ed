"""Few labelled rows: python -m lab.experiments.few_rows --data FOLDER --datasets sst-2,trec --output few_rows.csv

For each draw, dataset and number of labelled rows: one run, every way to answer on the same test rows, and beside it
what the run expected. A run appends its lines to the CSV file when it is finished, and is not repeated.
"""

import csv
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from lab.experiments.arguments import add_engine_options, read_numbers, read_options, refusing, say, split_words
from lab.experiments.datasets import Dataset, datasets_of
from lens_engine import __version__
from lens_engine.classifier.quality import Accuracy
from lens_engine.model.base import LabelScorer
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.opening import open_model
from lens_engine.presets import overlay_options, resolve_config
from lens_engine.randomness import make_generator
from lens_engine.result import Estimate, SelectionResult
from lens_engine.run.classifying import Classifying
from lens_engine.run.judge import ask_prompts
from lens_engine.run.preparation import prepare_run
from lens_engine.run.selection_run import SelectionRun
from lens_engine.run.state import MemoryCheckpointStore, TestedFigures
from lens_engine.types import Example

_KEY, _RIVALS = ("model", "dataset", "rows", "draw"), ("no examples", "random 1")
_REGRESSIONS = {"bag_of_words": "words", "embeddings": "embeddings"}  #: classifiers that ask no model, to compare with


class Figures(NamedTuple):
    """One way to answer, on the test rows and as the run expected it."""

    contender: str
    use: str
    test: float
    test_rows: int
    estimate: float | str = ""  #: only for what is chosen
    low: float | str = ""
    high: float | str = ""
    naive: float | str = ""  #: accuracy on the rows that chose it


def main(words: Sequence[str] | None = None) -> None:
    """Do the runs that are missing. A fault of the input ends it with 2."""
    given = _parse(words)
    with refusing():
        find_dataset, options, done = datasets_of(given.data), read_options(given.option), _read_done(given.output)
        scorer = open_model(given.model, device=given.device, threads=given.threads).scorer
        runs = [(name, size, draw) for draw in range(given.draws) for name in given.datasets for size in given.rows]
        for name, size, draw in runs:
            key = (given.model, name, str(size), str(draw))
            if key not in done:
                result = run_draw(find_dataset(name), size, draw, scorer, options)
                cost = (result.cost.pairs, result.cost.tokens, round(result.cost.seconds, 1), __version__)
                _append(given.output, [(*key, *figures, *cost) for figures in list_figures(result)])
                say(f"{name}, {size} rows, draw {draw}: {result.verdict.sentence}")


def _parse(words: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m lab.experiments.few_rows", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, help="folder with NAME.train.jsonl, NAME.test.jsonl, … (or .csv, .parquet); default: hub")
    add("--datasets", type=split_words, required=True, help="names, e.g. sst-2,trec")
    add("--rows", type=read_numbers, default=(20, 50, 100, 200), help="numbers of labelled rows, e.g. 20,50")
    add("--draws", type=int, default=10, help="number of draws of the labelled rows")
    add("--model", default=BUNDLED_MODEL, help="as for `lens select`")
    add("--output", type=Path, default=Path("few_rows.csv"), help="CSV file to which lines are appended")
    add("--device", default="auto", help="cpu, cuda, or auto")
    add_engine_options(parser)
    return parser.parse_args(words)


def run_draw(dataset: Dataset, size: int, draw: int, scorer: LabelScorer, options: dict[str, Any]) -> SelectionResult:
    """The result of the preset quick, in which a random set and embeddings were asked for the test rows too."""
    problem = replace(dataset.problem(dataset.settings.templates[0]), examples=draw_rows(dataset.train, size, draw))
    config = resolve_config("quick", overlay_options({"seed": draw, "rows": {"test": 1000}}, options))
    run = SelectionRun(prepare_run(problem, scorer, config), MemoryCheckpointStore())
    reason, place = run.finish(), next(at for at, one in enumerate(run.proposals) if one.method == "random")
    (scores,) = ask_prompts(run.setup, run.meter, [run.proposals[place]], run.setup.rows.test)
    judge, made = Classifying(run.setup, run.meter).test, enumerate(run.state.candidates)
    found = {at: TestedFigures.of(judge(one)) for at, one in made if one.name in _REGRESSIONS}
    run.state = replace(run.state, tested={**run.state.tested, place: scores})
    run.state = replace(run.state, tested_classifiers={**run.state.tested_classifiers, **found})
    return run.result(reason)


def draw_rows(rows: Sequence[Example], size: int, draw: int) -> tuple[Example, ...]:
    """Two rows of each label, without which there is no run, and others at random. A larger draw has the smaller."""
    first, others, seen = list[Example](), list[Example](), Counter[str]()
    for place in make_generator(draw, "few rows").permutation(len(rows)):
        seen[rows[place].label] += 1
        (first if seen[rows[place].label] <= 2 else others).append(rows[place])
    return tuple([*first, *others][:size])


def list_figures(result: SelectionResult) -> Iterator[Figures]:
    """What was chosen for each use, the classifier, the first choice of all, and what they are compared with."""
    found: list[tuple[str, str | None, Accuracy | None, Estimate | None]]
    found = [("prompt", one.use, one.test, one.estimate) for one in result.support_examples]
    found += [("classifier", one.name, one.test, result.classifier_estimate) for one in result.tested if one.is_chosen]
    first = found[0 if result.first == "prompt" else -1]
    found += [("first", *first[1:])]
    found += [(_REGRESSIONS[one.name], "", one.test, None) for one in result.tested if one.name in _REGRESSIONS]
    found += [(one.method, one.use, one.test, None) for one in result.contenders if one.name in _RIVALS]
    for name, use, test, estimate in found:
        if test is not None:
            expected = () if estimate is None else (estimate.accuracy, *estimate.ci95, estimate.naive)
            yield Figures(name, use or "", test.accuracy, test.n, *expected)


def _read_done(path: Path) -> set[tuple[str, ...]]:
    if not path.exists():
        return set()
    with path.open(newline="", encoding="utf-8") as file:
        return {tuple(line[name] for name in _KEY) for line in csv.DictReader(file)}


def _append(path: Path, lines: Sequence[tuple[object, ...]]) -> None:
    head = [] if path.exists() else [(*_KEY, *Figures._fields, "pairs", "tokens", "seconds", "version")]
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([*head, *lines])


if __name__ == "__main__":
    main()

"""Prompts of every form beside random-and-validation, on draws of training files.

A draw shuffles a training file by its number. Its first 1,200 rows are what a user uploads, and the next 300 are the
test rows: rows like the upload. Each draw is one run of `quick` with all forms. Two more runs have one form each, and
one asks the first random permutation; the pair cache answers most of what they ask.
"""

import csv
import random
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.experiments.arguments import add_engine_options, read_numbers, read_options, refusing, say, split_words
from lab.experiments.datasets import Dataset, datasets_of
from lens_engine import Example, Problem, Task, select_support_examples
from lens_engine.classifier.quality import Quality
from lens_engine.opening import LanguageModel, open_model
from lens_engine.presets import resolve_config
from lens_engine.result import SupportExamples
from lens_engine.task.instructions import suggest_instructions
from lens_engine.task.template import Template
from lens_engine.task.verbalizer import Verbalizer

FIRST_SEED, UPLOADED, TESTED = 26_000, 1_200, 300
RUNS: Mapping[str, Mapping[str, Any]] = {
    "lens": {},
    "nearest": {"search.forms": ["nearest"], "comparisons": "none"},
    "fixed+nearest": {"search.forms": ["fixed+nearest"], "comparisons": "none"},
    "random": {"method": "random", "comparisons": "none"},
}
"""Name of each run, and its options over those of the preset."""


def main() -> None:
    parser = ArgumentParser(prog="python -m lab.experiments.prompts", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder with NAME.train.jsonl, … and perhaps NAME.task.json")
    add("--datasets", type=split_words, required=True, help="names, e.g. sst-2,trec")
    add("--draws", type=read_numbers, required=True, help="numbers, e.g. 0,1,2")
    add("--wordings", choices=("one", "chosen"), default="one", help="first template, or all with all instructions")
    add("--model", default="smollm2-135m-instruct", help="a bundled name, a folder or a .gguf file")
    add("--dtype", default="bfloat16", help="float32, bfloat16 or auto")
    add("--output", type=Path, required=True, help="CSV file; cells are appended")
    add_engine_options(parser)
    given = parser.parse_args()
    with refusing():
        find_dataset, model = datasets_of(given.data), open_model(given.model, dtype=given.dtype, threads=given.threads)
        for draw in given.draws:
            for name in given.datasets:
                problem = make_problem(find_dataset(name), draw, has_choice=given.wordings == "chosen")
                shared = {"dataset": name, "draw": draw, "wordings": given.wordings, "model": given.model}
                cells = measure(problem, model, {"seed": draw, **read_options(given.option)})
                _append(given.output, [{**shared, "arithmetic": given.dtype, **cell} for cell in cells])


def make_problem(dataset: Dataset, draw: int, *, has_choice: bool) -> Problem:
    """The rows of a draw, in the dataset's first template or, with a choice, in every template and instruction."""
    rows = list(dataset.train)
    random.Random(FIRST_SEED + draw).shuffle(rows)
    words, templates = Verbalizer(dataset.settings.words), dataset.settings.templates
    task, *others = (
        Task(Template(template), words, instruction=instruction)
        for template in (templates if has_choice else templates[:1])
        for instruction in ("", *(suggest_instructions(words.words.values()) if has_choice else ()))
    )
    return Problem(task, _number(rows[:UPLOADED]), _number(rows[UPLOADED : UPLOADED + TESTED]), others)


def measure(problem: Problem, model: LanguageModel, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells of a draw, one for each use and prompt."""
    for name, changes in RUNS.items():
        started = time.monotonic()
        config = resolve_config("quick", {**options, **changes, "classifier.kind": "none"})
        result = select_support_examples(problem, model, config)
        if problem.alternatives:  # the other runs take the wording that the first one chose
            chosen = Task(result.task.template, problem.task.verbalizer, instruction=result.task.instruction)
            problem = Problem(chosen, problem.examples, problem.test)
        run = {
            "first_permutations": config.search.first_permutations,
            "template": result.task.template,
            "instruction": result.task.instruction,
            "pairs": result.cost.pairs,
            "tokens": result.cost.tokens,
            "seconds": round(time.monotonic() - started),
        }
        for found in result.support_examples:
            yield from ({**cell, "use": found.use, **run} for cell in _cells(name, found))


def _cells(run: str, found: SupportExamples) -> Iterator[dict[str, Any]]:
    """The prompts of a run that the table has, for one use."""
    if run == "lens":
        names = {"lens": "permutation", "zero_shot": "zero_shot", "random_and_validation": "random_and_validation"}
        for one in found.contenders:
            if one.method in names:
                yield _cell(names[one.method], one.form.name, one.judged, one.test)
        yield _cell("fixed", "fixed", *_figures(found.fixed or found))
        yield _cell("chosen", found.form.name, *_figures(found))
    elif found.form.kind in (run, "fixed"):  # `fixed`: no row of the pool fits the context
        yield _cell(run, found.form.name, *_figures(found))


def _figures(found: SupportExamples) -> tuple[Any, Quality | None]:
    return found.judged, found.without_biases if found.use == "prompt" else found.with_biases


def _cell(method: str, form: str, judged: Any, test: Quality | None) -> dict[str, Any]:
    return {
        "method": method,
        "form": form,
        "right_of_judged": judged and round(judged.accuracy * judged.n),
        "judged": judged and judged.n,
        "right_of_test": test and round(test.accuracy * test.n),
        "tested": test and test.n,
    }


def _number(rows: list[Example]) -> list[Example]:
    return [replace(row, row=place) for place, row in enumerate(rows)]


def _append(path: Path, cells: list[dict[str, Any]]) -> None:
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(cells[0]), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(cells)
    for cell in cells:
        if cell["method"] == "chosen":
            say(f"{cell}")


if __name__ == "__main__":
    main()

"""Suggests a task and a preset for a file."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from lens_engine.config import LabelOptions
from lens_engine.errors import InvalidInput
from lens_engine.metering.cost import Cost
from lens_engine.presets import PRESETS
from lens_engine.pricing.estimate import estimate_by_words, measure_pace
from lens_engine.reading import ParsedDataset, ParsingLimits, parse_dataset
from lens_engine.reading.column_profiles import profile_columns
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.run.preparation import prepare_run, price_run
from lens_engine.scoring.base import LabelScorer
from lens_engine.suggestion.columns import ColumnChoice, choose_columns
from lens_engine.suggestion.labels import tidy_labels
from lens_engine.suggestion.suggestion import LabelCount, PresetPlan, Suggestion
from lens_engine.task.defaults import DEFAULT_TEMPLATE, OTHER_TEMPLATES
from lens_engine.task.request import TaskRequest


def suggest(
    path: str | Path,
    scorer: LabelScorer | None = None,
    *,
    test: str | Path | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
) -> Suggestion:
    """Look at a file of labelled texts, and suggest columns, label words, templates and presets.

    Args:
        path: a trusted CSV, JSONL or Parquet file.
        scorer: the model that measures the cost of each preset; None leaves the costs out.
        test: a trusted file of test rows with the same columns; None to hold rows out.
        text_column, label_column: names of the columns; None to find them.

    Raises:
        InvalidDataset: no column can hold the texts or the labels, or a row is bad.
        InvalidVerbalizer: a label gives no label word, or two labels give the same word.
        OSError: the file cannot be read.
    """
    columns = choose_columns(profile_columns(Path(path)), text_column, label_column)
    dataset = _parse(Path(path), columns, "dataset")
    test_rows = None if test is None else _parse(Path(test), columns, "test")
    test_examples = None if test_rows is None else test_rows.examples
    tidy = tidy_labels(dataset.examples, test_examples, PRESETS["quick"])
    problem, as_written = tidy.problem, TaskRequest().complete(dataset.examples)
    counts = Counter(example.label for example in dataset.examples)
    found = Suggestion(
        problem=problem,
        columns=columns,
        num_rows=len(dataset.examples),
        labels=tuple(LabelCount(label, rows, label in tidy.rare) for label, rows in counts.most_common()),
        lookalikes=tidy.lookalikes,
        templates=(DEFAULT_TEMPLATE, *OTHER_TEMPLATES),
        options=_write_options(tidy.options),
        plans=_plan_presets(problem),
        words_accuracy=_estimate_words(Problem(as_written, dataset.examples, test_examples), tidy.options),
        warnings=dataset.warnings,
    )
    return found if scorer is None else price_suggestion(found, scorer)


def price_suggestion(suggestion: Suggestion, scorer: LabelScorer) -> Suggestion:
    """The suggestion with the cost of each preset. The pace is measured once, on a small sample.

    Raises:
        InvalidVerbalizer: the model cannot tell two label words apart; the message names both.
    """
    pace: float | None = None
    plans = list[PresetPlan]()
    for plan in suggestion.plans:
        if plan.splits is None:
            plans.append(plan)
            continue
        try:
            prepared = prepare_run(suggestion.problem, scorer, PRESETS[plan.preset])
        except InvalidInput as error:
            plans.append(replace(plan, splits=None, refusal=str(error)))
            continue
        if pace is None:
            rows = prepared.run.rows
            pace = measure_pace(rows, suggestion.problem.task, scorer)
        cost = sum(price_run(prepared.run, prepared.method).values(), Cost())
        plans.append(replace(plan, cost=cost, seconds=cost.tokens / pace if pace else None))
    return replace(suggestion, plans=tuple(plans))


def _parse(path: Path, columns: ColumnChoice, field: str) -> ParsedDataset:
    limits = ParsingLimits.of_own_files()
    return parse_dataset(path, limits, field=field, text_column=columns.text.name, label_column=columns.label.name)


def _write_options(labels: LabelOptions) -> tuple[tuple[str, str], ...]:
    """The options that differ from the default, as in `--option NAME=VALUE`."""
    given = labels.model_dump(exclude_defaults=True)
    return tuple((f"labels.{name}", "true" if value is True else value) for name, value in given.items())


def _plan_presets(problem: Problem) -> tuple[PresetPlan, ...]:
    plans = list[PresetPlan]()
    for preset, config in PRESETS.items():
        try:
            rows = split_examples(problem, config)
        except InvalidInput as error:
            plans.append(PresetPlan(preset, None, refusal=str(error)))
        else:
            plans.append(PresetPlan(preset, _count_rows(rows), warnings=rows.warnings))
    return tuple(plans)


def _count_rows(rows: SplitRows) -> dict[str, int]:
    return {
        "test": len(rows.test),
        "validation": len(rows.validation),
        "confirmation": len(rows.confirmation),
        "score set": len(rows.score_set),
        "candidates": len(rows.candidates),
    }


def _estimate_words(problem: Problem, labels: LabelOptions) -> float | None:
    """The figure of `--estimate` for the same file and the same options; test rows are left out."""
    config = PRESETS["quick"].model_copy(update={"labels": labels})
    try:
        rows = split_examples(problem, config)
    except InvalidInput:
        return None
    return estimate_by_words(list_labelled_rows(rows, config.classifier.fit_rows), rows.task)

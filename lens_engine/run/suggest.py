"""Suggests a task and a preset for a file."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lens_engine.classifier.bag_of_words import WordsEstimate, estimate_accuracy
from lens_engine.config import LabelOptions, PresetName, SelectionConfig
from lens_engine.errors import InvalidInput
from lens_engine.files import Dialect, Named, ParsedDataset, ParsingLimits, parse_dataset
from lens_engine.files.choice import ColumnChoice
from lens_engine.files.table import ColumnNames
from lens_engine.metering.estimate import PresetPlan, measure_pace
from lens_engine.metering.prices import Cost
from lens_engine.model.base import LabelScorer, OpenModel, find_scorer
from lens_engine.model.spending import Paid
from lens_engine.presets import PRESETS
from lens_engine.prompt.language import Language, find_language
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.request import TaskRequest, combine_wordings, read_instructions, read_templates
from lens_engine.prompt.template import Task, suggest_instructions
from lens_engine.prompt.verbalizer import OTHER_TEMPLATES, find_silent, warn_of_silent
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.rows.cleaning import join_spellings
from lens_engine.rows.dealing import DealtRows, deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import prepare_run, price_run
from lens_engine.show.verdict import advise_by_words
from lens_engine.types import Example, Phase


@dataclass(frozen=True, slots=True)
class LabelCount:
    """A label as it is written in the file."""

    label: str
    rows: int
    read_as: str  #: the same label, or the more frequent spelling that it goes under
    is_rare: bool = False  #: fewer than two rows; the suggestion drops the label


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What can be said of a dataset before a selection. No test row was looked at to choose anything."""

    problem: Problem  #: in the wordings that the suggested selection chooses among
    columns: ColumnChoice | None  #: None for rows that are not read from a file
    num_rows: int
    labels: tuple[LabelCount, ...]  #: most frequent first
    templates: tuple[str, ...]  #: the default first
    instructions: tuple[str, ...]  #: to try, beside none, which is the default
    label_options: LabelOptions  #: options of the selection: whether rare labels are left out
    plans: tuple[PresetPlan, ...]
    words: WordsEstimate | None  #: what a bag of words reaches; None if the rows do not suffice
    language: Language | None
    warnings: tuple[str, ...]  #: of the reading of the file
    num_unlabelled: int = 0  #: rows with a text and no label, which are kept aside
    sample: Paid | None = None  #: what the measuring of the pace took at a server
    asked: TaskRecord | None = None  #: the task as the model is asked; None without a model

    @property
    def num_labels(self) -> int:
        """Number of labels that the selection takes: of several spellings one, and none that is rare."""
        return len({one.read_as for one in self.labels if not one.is_rare})

    @property
    def preset(self) -> PresetName | None:
        """The first preset that can be used; None if none can."""
        return next((plan.preset for plan in self.plans if plan.refusal is None), None)

    @property
    def advice(self) -> str | None:
        """What a bag of words reaches beside the largest class; None if the rows do not suffice."""
        return None if self.words is None else advise_by_words(self.words)

    def __repr__(self) -> str:
        where = ""
        if self.columns is not None:
            text, label = (show_label(column.name) for column in (self.columns.text, self.columns.label) if column)
            where = f", texts in column {text}, labels in column {label}"
        presets = ", ".join(plan.preset for plan in self.plans if plan.refusal is None) or "none"
        return (
            f"Suggestion({show_count(self.num_rows, 'row')}{where}, "
            f"{show_count(self.num_labels, 'label')}, presets that can run: {presets})"
        )


MeasurePace = Callable[[DealtRows, Task, LabelScorer], float | None]


def suggest(
    path: str | Path,
    scorer: LabelScorer | OpenModel | None = None,
    *,
    test: str | Path | None = None,
    text_column: ColumnNames | None = None,
    label_column: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Suggestion:
    """Look at a file of labelled texts, and suggest columns, label words, templates, instructions and presets.

    Args:
        path: a trusted file, or a folder.
        scorer: the model that measures the cost of each preset, as `open_model` returns it, or any `LabelScorer`; None
            leaves the costs out.
        test: a trusted file of test rows with the same columns; None for none.
        text_column, label_column: names of the columns; None to find them. Texts of several columns are joined.
        delimiter, encoding: of the files; None to find them.

    Raises:
        InvalidDataset: no column can hold the texts or the labels, or a row is bad.
        InvalidVerbalizer: a label gives no label word, or two labels give the same word.
        OSError: the file cannot be read.
    """
    dialect = Dialect(encoding, delimiter)
    dataset = _parse(Path(path), Named(text_column, label_column), "dataset", dialect)
    test_rows = None if test is None else _parse(Path(test), Named(*dataset.columns), "test", dialect).examples
    found = suggest_for_rows(dataset.examples, test_rows, label_column=dataset.columns[1], with_choice=True)
    warnings = (*dataset.warnings, *found.warnings)
    found = replace(found, columns=dataset.choice, warnings=warnings, num_unlabelled=len(dataset.unlabelled))
    return found if scorer is None else price_suggestion(found, find_scorer(scorer))


def suggest_for_rows(
    examples: Sequence[Example],
    test: Sequence[Example] | None = None,
    *,
    label_column: str | None = None,
    with_choice: bool = False,
) -> Suggestion:
    """As `suggest`, for rows that are read already, without columns and costs.

    Args:
        label_column: where the labels are from; see `write_template`.
        with_choice: whether the selection chooses among the templates and instructions; else it takes the default.

    Raises:
        InvalidVerbalizer: a label gives no label word, or two labels give the same word.
    """
    problem = Problem(TaskRequest().complete(examples, label_column=label_column).task, examples, test)
    language = find_language(examples)  # takes 100 MiB for a moment, so it comes before what leaves memory behind
    rare = _find_rare(problem)
    labels = LabelOptions(rare="drop") if rare else LabelOptions()
    words = problem.task.verbalizer
    kept = words.without(rare)
    instructions = suggest_instructions(kept.words.values(), names_them=not find_silent(kept))
    templates = (problem.task.template.pattern, *OTHER_TEMPLATES)
    if with_choice:
        wordings = combine_wordings(words, read_templates(templates), read_instructions(("", *instructions)))
        problem = replace(problem, alternatives=wordings.alternatives)
    plans, words_estimate = _plan_presets(problem, labels)
    return Suggestion(
        problem=problem,
        columns=None,
        num_rows=len(examples),
        labels=_count_labels(problem, rare),
        templates=templates,
        instructions=instructions,
        label_options=labels,
        plans=plans,
        words=words_estimate,
        language=language,
        warnings=tuple(warn_of_silent(kept)),
    )


def price_suggestion(suggestion: Suggestion, scorer: LabelScorer, measure: MeasurePace = measure_pace) -> Suggestion:
    """The suggestion with the cost of each preset. The pace is measured once, on a small sample.

    Args:
        measure: gives the pace (tokens per second); None of it leaves the time out.

    Raises:
        InvalidVerbalizer: the model cannot tell two label words apart; the message names both.
    """
    pace: float | None = None
    spending = scorer.spending
    before = None if spending is None else spending.paid
    asked: TaskRecord | None = None
    plans = list[PresetPlan]()
    for plan in suggestion.plans:
        if plan.counts is None:
            plans.append(plan)
            continue
        try:
            prepared = prepare_run(suggestion.problem, scorer, _with_labels(plan.preset, suggestion.label_options))
        except InvalidInput as error:
            plans.append(replace(plan, counts=None, refusal=str(error)))
            continue
        task = prepared.setup.task
        asked = TaskRecord.of(task)
        if pace is None:
            pace = measure(prepared.setup.rows, task, scorer)
        prices, label_spans = price_run(prepared.setup), task.label_spans
        cost = sum(prices.values(), Cost())
        usual = cost.tokens - prices[Phase.JUDGE].tokens // 2
        seconds = usual / pace if pace else None
        bill = None if spending is None else scorer.bill(cost.pairs, cost.prompt_tokens, label_spans, cost.prefixes)
        plans.append(replace(plan, cost=cost, usual_tokens=usual, seconds=seconds, bill=bill))
    sample = None if spending is None or before is None else spending.paid - before
    return replace(suggestion, plans=tuple(plans), sample=sample, asked=asked)


def _parse(path: Path, columns: Named, field: str, dialect: Dialect) -> ParsedDataset:
    limits = replace(ParsingLimits.of_own_files(), skips_unlabelled=True)
    return parse_dataset(path, limits, field=field, columns=columns, dialect=dialect)


def _count_labels(problem: Problem, rare: Collection[str]) -> tuple[LabelCount, ...]:
    counts = Counter(example.label for example in problem.examples)
    label_of = join_spellings(problem.task.labels, counts, LabelOptions())
    return tuple(
        LabelCount(label, rows, label_of[label], is_rare=label_of[label] in rare)
        for label, rows in counts.most_common()
    )


def _find_rare(problem: Problem) -> frozenset[str]:
    """The labels that a selection leaves out; none if it is refused even without them."""
    try:
        kept = deal_rows(problem, _with_labels("quick", LabelOptions(rare="drop"))).task.labels
    except InvalidInput:
        return frozenset()
    return frozenset(problem.task.labels) - frozenset(kept)


def _with_labels(preset: PresetName, labels: LabelOptions) -> SelectionConfig:
    return PRESETS[preset].model_copy(update={"labels": labels})


def _plan_presets(problem: Problem, labels: LabelOptions) -> tuple[tuple[PresetPlan, ...], WordsEstimate | None]:
    """A plan for each preset; then what a bag of words reaches on the rows of `quick`."""
    plans, words = list[PresetPlan](), None
    for preset in PRESETS:
        config = _with_labels(preset, labels)
        try:
            rows = deal_rows(problem, config)
        except InvalidInput as error:
            plans.append(PresetPlan(preset, None, refusal=str(error)))
            continue
        counts = {name: len(getattr(rows, name)) for name in ("labelled", "search", "judging", "test")}
        plans.append(PresetPlan(preset, counts, warnings=rows.notes))
        if preset == "quick":
            gold = rows.task.index_labels(rows.labelled)
            words = estimate_accuracy([one.text for one in rows.labelled], gold, len(rows.task.labels))
    return tuple(plans), words

"""Labels that look alike become one, and labels with too few rows are left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lens_engine.config import LabelOptions, SelectionConfig
from lens_engine.errors import InvalidInput
from lens_engine.rows.label_words import read_labels
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.task.label_forms import compare_labels, fold_label
from lens_engine.task.request import TaskRequest
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class TidyLabels:
    """A problem with tidy labels, and the options of a selection that tidy them in the same way."""

    problem: Problem
    lookalikes: tuple[tuple[str, ...], ...]  #: groups of labels of the examples
    rare: frozenset[str]
    options: LabelOptions


def tidy_labels(examples: Sequence[Example], test: Sequence[Example] | None, config: SelectionConfig) -> TidyLabels:
    """Give look-alike labels their most frequent spelling, then leave out the labels that are too rare to be split.

    Raises:
        InvalidDataset: all examples have one label.
        InvalidVerbalizer: a label gives no label word, or two labels give the same word.
    """
    request = TaskRequest()
    options = _choose_options([*examples, *(test or ())])
    problem = read_labels(Problem(request.complete(examples), examples, test), options).problem
    rare = _find_rare(problem, config.model_copy(update={"labels": LabelOptions(rare="drop")}))
    if rare:
        options = options.model_copy(update={"rare": "drop"})
        problem = problem.without_labels(rare)
        problem = replace(problem, task=request.complete(problem.examples))
    return TidyLabels(problem, _group_lookalikes(examples), rare, options)


def _choose_options(rows: Sequence[Example]) -> LabelOptions:
    """The options under which the labels of each group of look-alikes are equal."""
    alike = [compare_labels(group[0], other) for group in _group_lookalikes(rows) for other in group[1:]]
    return LabelOptions.model_validate(
        {name: True for likeness in alike if likeness is not None for name in likeness.options}
    )


def _group_lookalikes(rows: Iterable[Example]) -> tuple[tuple[str, ...], ...]:
    groups: dict[str, list[str]] = {}
    for label in dict.fromkeys(example.label for example in rows):
        groups.setdefault(fold_label(label), []).append(label)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _find_rare(problem: Problem, config: SelectionConfig) -> frozenset[str]:
    """The labels that a selection leaves out; none if it is refused even without them."""
    try:
        kept = split_examples(problem, config).task.labels
    except InvalidInput:
        return frozenset()
    return frozenset(problem.task.labels) - frozenset(kept)

"""Labels that look alike become one, and labels with too few rows are left out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidInput
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.task.label_forms import compare_labels, fold_label
from lens_engine.task.template import Task, list_labels
from lens_engine.types import Example

_FEWEST_LABELS = 2


@dataclass(frozen=True, slots=True)
class TidyLabels:
    """Examples with tidy labels, and the options of a selection that tidy them in the same way."""

    examples: tuple[Example, ...]
    test: tuple[Example, ...] | None
    lookalikes: tuple[tuple[str, ...], ...]
    rare: frozenset[str]
    options: tuple[tuple[str, str], ...]


def tidy_labels(examples: Sequence[Example], test: Sequence[Example] | None, config: SelectionConfig) -> TidyLabels:
    """Give look-alike labels their most frequent spelling, then leave out the labels that are too rare to be split.

    The labels of test rows follow those of the examples.

    Raises:
        InvalidVerbalizer: a label gives no label word, or two labels give the same word.
    """
    lookalikes = _find_lookalikes(examples)
    most_frequent = {fold_label(label): label for label in list_labels(examples)}
    merged, merged_test = (
        tuple(replace(one, label=most_frequent.get(fold_label(one.label), one.label)) for one in rows)
        for rows in (examples, test or ())
    )
    counts = Counter(example.label for example in merged)
    kept = _find_frequent(counts, merged, None if test is None else merged_test, config)
    options = _list_options(lookalikes)
    rare = frozenset(counts) - kept
    if rare:
        options += (("labels.rare", "drop"),)
    return TidyLabels(
        tuple(one for one in merged if one.label in kept),
        None if test is None else tuple(one for one in merged_test if one.label not in rare),
        lookalikes,
        rare,
        options,
    )


def _find_lookalikes(examples: Sequence[Example]) -> tuple[tuple[str, ...], ...]:
    groups: dict[str, list[str]] = {}
    for label in dict.fromkeys(example.label for example in examples):
        groups.setdefault(fold_label(label), []).append(label)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _list_options(lookalikes: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """The options under which the labels of each group are equal."""
    alike = [compare_labels(group[0], other) for group in lookalikes for other in group[1:]]
    names = sorted({name for likeness in alike if likeness is not None for name in likeness.options}, reverse=True)
    return tuple((f"labels.{name}", "true") for name in names)


def _find_frequent(
    counts: Counter[str], examples: Sequence[Example], test: Sequence[Example] | None, config: SelectionConfig
) -> frozenset[str]:
    """The labels without the rarest, until the rows can be split; all labels if that would leave less than two."""
    for least in sorted({0, *counts.values()}):
        kept = frozenset(label for label, count in counts.items() if count > least)
        if len(kept) < _FEWEST_LABELS:
            break
        train, tested = ([one for one in rows if one.label in kept] for rows in (examples, test or ()))
        try:
            split_examples(Problem(Task.for_labels(sorted(kept)), train, None if test is None else tested), config)
        except ClassTooSmall:
            continue
        except InvalidInput:
            break
        return kept
    return frozenset(counts)

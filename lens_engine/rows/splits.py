"""Cuts labelled examples into disjoint splits.

The test rows are given, or held out of the upload. The other rows are cut into validation rows V,
confirmation rows, the score set S and the candidates D. A text is in one split only: repeated texts are
left out, a text with two labels is set aside, and a text that is also in the test rows is left out of
the other splits. The splits carry the counts and a warning for each case.

cleaning         joins spellings of labels, leaves out repeated, conflicting and leaked texts
label_rows       refuses or drops labels with too few rows or without a label word
split_sizes      how many rows of each label every split has
split_warnings   what was changed or left out, and which splits are small
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidDataset, InvalidInput, join_faults
from lens_engine.randomness import make_generator
from lens_engine.rows.cleaning import CleanProblem, clean_problem
from lens_engine.rows.label_rows import serve_labels
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import Quotas, count_labels, spread_evenly, take_quotas
from lens_engine.rows.split_sizes import LabelCounts, SplitSizes, lacks_labels
from lens_engine.rows.split_warnings import warn_of_rows, warn_of_sizes
from lens_engine.task.template import Task
from lens_engine.task.wording import show_count, show_label
from lens_engine.types import Example

_MOST_SPARE = 2000
"""Largest number of spare rows that are kept for the fit of a head."""


@dataclass(frozen=True, slots=True)
class SplitRows:
    """The rows of each split; no text is in two splits.

    Every beginning of `score_set` is label-balanced, because the score set of a round is such a beginning.
    """

    task: Task  #: the problem's, without the labels that were left out as too rare
    quotas: Quotas  #: of the demonstrations in a permutation
    candidates: tuple[Example, ...]
    score_set: tuple[Example, ...]
    validation: tuple[Example, ...]
    confirmation: tuple[Example, ...]
    test: tuple[Example, ...]
    spare: tuple[Example, ...]  #: rows beyond `filtering.candidates`, at most 2,000; a head may be fitted on them
    unused: int  #: number of rows beyond `filtering.candidates`
    duplicates_dropped: int
    conflicting_texts: int
    leaked_from_test: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """The warnings, with the lines of rows. Results have `warnings`, because equal rows of two formats have equal
    results."""
    skipped_too_long: int = 0  #: rows left out because of the model's context
    trimmed_too_long: int = 0  #: rows whose text was cut to the model's context


def split_examples(problem: Problem, config: SelectionConfig) -> SplitRows:
    """Cut a problem's examples into splits; the same seed gives the same rows.

    Raises:
        InvalidVerbalizer: a label has a label word but no example, or two labels are spellings of one label.
        InvalidDataset: a label has no label word, and is not left out as too rare.
        ClassTooSmall: labels have fewer rows than the splits need, and `labels.rare` is "reject"; the error lists the
            labels and the number that they need.
        InvalidConfig: filtering keeps fewer examples than a permutation needs, or an option makes a split too small
            for the labels.
    """
    rows = clean_problem(problem, config.labels)
    served = serve_labels(problem.task, rows, config)
    task, sizes = served.task, served.sizes
    _check_keep(task.labels, sizes.quotas, config)
    parts = _cut(rows, problem.task.labels, sizes, config)
    sizes_told = (*served.warnings, *warn_of_sizes(sizes, config, is_held_out=rows.test is None))
    split = SplitRows(
        task=task,
        quotas=sizes.quotas,
        candidates=tuple(sorted(parts.candidates, key=lambda example: example.row)),
        score_set=tuple(_interleave(parts.score_set, task.labels)),
        validation=tuple(parts.validation),
        confirmation=tuple(parts.confirmation),
        test=tuple(parts.test),
        spare=tuple(parts.beyond[:_MOST_SPARE]),
        unused=len(parts.beyond),
        duplicates_dropped=sum(len(upload.duplicates) for upload in rows.uploads.values()),
        conflicting_texts=sum(len(upload.conflicts) for upload in rows.uploads.values()),
        leaked_from_test=len(rows.leaked),
        warnings=(*warn_of_rows(rows, lines=False), *sizes_told),
        notes=(*warn_of_rows(rows, lines=True), *sizes_told),
    )
    _check_candidates(split, config)
    return split


def _check_keep(labels: Sequence[str], quotas: Quotas, config: SelectionConfig) -> None:
    """Refuse a `filtering.keep` that cannot fill the quotas, whichever label gets the odd place."""
    least = quotas.num_demonstrations if quotas.by_label is None else max(quotas.by_label.values()) * len(labels)
    if config.filtering.keep < least:
        raise InvalidConfig(
            f"filtering.keep is {config.filtering.keep}, and {config.num_demonstrations} demonstrations of "
            f"{len(labels)} labels need at least {least} examples to choose from; raise it",
            field="options.filtering.keep",
        )


def _shuffle(examples: Sequence[Example], seed: int, stage: str) -> list[Example]:
    order = make_generator(seed, stage).permutation(len(examples))
    return [examples[index] for index in order]


@dataclass(frozen=True, slots=True)
class _Parts:
    test: list[Example]
    validation: list[Example]
    confirmation: list[Example]
    score_set: list[Example]
    candidates: list[Example]
    beyond: list[Example]  #: rows that no split has a place for


def _cut(rows: CleanProblem, known: Sequence[str], sizes: SplitSizes, config: SelectionConfig) -> _Parts:
    """Take the rows of each split, in random order; rows of labels without a size are left out."""
    labels = tuple(sizes.candidates)
    rest = _with_labels(_shuffle(_with_labels(rows.dataset.examples, known), config.seed, "splits"), labels)
    if rows.test is None:
        held_out, rest = _take(rest, sizes.test)
    else:
        test = _shuffle(_with_labels(rows.test.examples, known), config.seed, "test")
        held_out, _ = _take(_with_labels(test, labels), sizes.test)
    validation, rest = _take(rest, sizes.validation)
    confirmation, rest = _take(rest, sizes.confirmation)
    score_set, rest = _take(rest, sizes.score_set)
    candidates, beyond = _take(rest, sizes.candidates)
    return _Parts(held_out, validation, confirmation, score_set, candidates, beyond)


def _with_labels(examples: list[Example], labels: Sequence[str]) -> list[Example]:
    wanted = set(labels)
    return [example for example in examples if example.label in wanted]


def _take(pool: list[Example], sizes: LabelCounts) -> tuple[list[Example], list[Example]]:
    """The first rows of each label, and the remaining rows; both in the pool's order."""
    return take_quotas(pool, sizes, lambda example: example.label)


def _interleave(examples: list[Example], labels: Sequence[str]) -> list[Example]:
    """Spread each label evenly over the list, so that every beginning has the labels in proportion."""
    groups = np.array([labels.index(example.label) for example in examples], dtype=np.intp)
    return [examples[index] for index in np.lexsort((groups, spread_evenly(groups)))]


def _check_candidates(split: SplitRows, config: SelectionConfig) -> None:
    if len(split.candidates) < config.num_demonstrations:
        raise InvalidDataset(
            f"{len(split.candidates)} candidates are left after the other splits, fewer than "
            f"num_demonstrations ({config.num_demonstrations}); add examples",
            field="dataset",
        )


def check_sizes(split: SplitRows, config: SelectionConfig) -> None:
    """Refuse splits that have become too small after long texts were left out.

    Raises:
        InvalidDataset: there are too few candidates.
        ClassTooSmall: a label has no row in a split with a place for each label, or too few candidates.
    """
    _check_candidates(split, config)
    labels = split.task.labels
    found: list[InvalidInput] = [
        _too_few_short(label, name, 1, 0)
        for name, rows in _splits_with_labels(split)
        if not lacks_labels(len(rows), len(labels))
        for label in _missing_labels(rows, labels)
    ]
    candidates = count_labels(split.candidates, labels)
    for label, quota in (split.quotas.by_label or {}).items():
        if candidates[label] < quota:
            found.append(_too_few_short(label, "candidate", quota, candidates[label]))
    if found:
        raise join_faults(found)


def _too_few_short(label: str, split: str, needed: int, found: int) -> ClassTooSmall:
    return ClassTooSmall(
        f"label {show_label(label)} is too rare: it needs {show_count(needed, f'{split} row')}, and {found} are left "
        "without the texts that are too long for the model's context; add shorter examples of it, or remove the label",
        field="dataset.label",
    )


def _splits_with_labels(split: SplitRows) -> tuple[tuple[str, tuple[Example, ...]], ...]:
    """The splits in which every label should have a row, by name."""
    return ("test", split.test), ("validation", split.validation), ("score", split.score_set)


def _missing_labels(rows: Sequence[Example], labels: Sequence[str]) -> list[str]:
    return [label for label, count in count_labels(rows, labels).items() if not count]

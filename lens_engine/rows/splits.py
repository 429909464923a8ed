"""Cuts labelled examples into disjoint splits.

The test rows are given, or held out of the upload. The other rows are cut into validation rows V,
confirmation rows, the score set S and the candidates D. A text is in one split only: duplicates are
dropped, a text with two labels is set aside, and a text that is also in the test rows is left out of
the other splits (or refused, if `splits.leaked_rows` is "reject"). The splits carry the counts and a
warning for each case.

label_words      reads labels, compares them with the verbalizer
cleaning         leaves out repeated and conflicting texts, and texts of the test rows
split_sizes      how many rows of each label every split has
rare_labels      refuses or drops labels with too few rows
split_warnings   tells what was left out, and which splits are small
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidDataset, InvalidInput, join_faults
from lens_engine.randomness import make_generator
from lens_engine.rows.cleaning import clean_examples, drop_leaks
from lens_engine.rows.label_words import find_mismatches, read_labels
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import Quotas, count_labels, spread_evenly, take_quotas
from lens_engine.rows.rare_labels import Supply, find_rare_strangers, serve_labels
from lens_engine.rows.split_sizes import LabelCounts, SplitSizes, lacks_labels
from lens_engine.rows.split_warnings import warn_of_sizes, warn_of_texts
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


def split_examples(problem: Problem, config: SelectionConfig) -> SplitRows:
    """Cut a problem's examples into splits; the same seed gives the same rows.

    Raises:
        InvalidVerbalizer: a label has a label word but no example, or two labels are the same label under
            `labels.strip` and `labels.casefold`.
        InvalidDataset: a label has no label word, and is not left out as too rare; or a text is in both dataset and
            test rows, and `splits.leaked_rows` is "reject".
        ClassTooSmall: labels have fewer examples than the splits and their quotas need, and `labels.rare` is
            "reject"; the error lists the labels and the numbers that they need.
        InvalidConfig: filtering keeps fewer examples than a permutation needs, or an option makes a split too small
            for the labels.
    """
    read = read_labels(problem, config.labels)
    problem = read.problem
    train, test = clean_examples(problem.examples), clean_examples(problem.test or ())
    supply = Supply(problem.examples, train.examples)
    test_supply = None if problem.test is None else Supply(problem.test, test.examples)
    strangers = find_rare_strangers(problem.task.labels, supply, test_supply, config)
    _refuse_mismatches(problem.without_labels(strangers), config)
    leaked = list[Example]()
    if problem.test is not None:
        train, leaked = drop_leaks(train, test, config)
    train, test = train.without_labels(strangers), test.without_labels(strangers)
    served = serve_labels(
        problem.task,
        Supply(problem.examples, train.examples),
        None if problem.test is None else Supply(problem.test, test.examples),
        config,
    )
    task, sizes = served.task, served.sizes
    _check_keep(task.labels, sizes.quotas, config)
    parts = _cut(train.examples, None if problem.test is None else test.examples, sizes, config)
    sizes_told = warn_of_sizes(sizes, config, is_held_out=problem.test is None)
    labels_told = (*read.warnings, *strangers.values(), *served.warnings)
    told = [(*labels_told, *warn_of_texts(train, test, leaked, lines=lines), *sizes_told) for lines in (False, True)]
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
        duplicates_dropped=len(train.duplicates) + len(test.duplicates),
        conflicting_texts=len(train.conflicts) + len(test.conflicts),
        leaked_from_test=len(leaked),
        warnings=told[0],
        notes=told[1],
    )
    _check_candidates(split, config)
    return split


def _refuse_mismatches(problem: Problem, config: SelectionConfig) -> None:
    labels = problem.task.labels
    found = find_mismatches(labels, problem.examples, "dataset", config.labels)
    if problem.test is not None:
        found += find_mismatches(labels, problem.test, "test", config.labels)
    if found:
        raise join_faults([*found, *_find_rare(problem, config)])


def _find_rare(problem: Problem, config: SelectionConfig) -> list[InvalidInput]:
    """The labels that are too rare even if labels that look alike are read as one label."""
    if config.labels.strip and config.labels.casefold:
        return []
    labels = config.labels.model_copy(update={"strip": True, "casefold": True})
    try:
        split_examples(problem, config.model_copy(update={"labels": labels}))
    except ClassTooSmall as error:
        return [error]
    except InvalidInput:
        return []
    return []


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


def _cut(train: list[Example], test: list[Example] | None, sizes: SplitSizes, config: SelectionConfig) -> _Parts:
    """Take the rows of each split, in random order; rows of labels without a size are left out."""
    labels = tuple(sizes.candidates)
    rest = _with_labels(_shuffle(train, config.seed, "splits"), labels)
    if test is None:
        held_out, rest = _take(rest, sizes.test)
    else:
        held_out, _ = _take(_with_labels(_shuffle(test, config.seed, "test"), labels), sizes.test)
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

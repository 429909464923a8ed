"""Cuts labelled examples into disjoint splits.

The test rows are given, or held out of the upload. The other rows are cut into validation rows V,
confirmation rows, the score set S and the candidates D. A text is in one split only: duplicates are
dropped, a text with two labels is set aside, and a text that is also in the test rows is left out of
the other splits (or refused, if `splits.leaked_rows` is "reject"). The splits carry the counts and a
warning for each case.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidDataset
from lens_engine.plan.rounds import plan_rounds
from lens_engine.randomness import make_generator
from lens_engine.rows.cleaning import CleanExamples, clean_examples, drop_leaks, list_rows
from lens_engine.rows.label_words import check_labels
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import (
    Quotas,
    count_labels,
    share_equally,
    share_proportionally,
    spread_evenly,
    take_quotas,
)
from lens_engine.types import Example

_VALIDATION_SHARE, _CONFIRMATION_SHARE, _SCORE_SHARE = 0.25, 0.20, 0.20
"""Largest share of the rows left after the test rows that a split may take, so that small uploads work."""

_FEW_ROWS = 16
"""Rows of a split from which on it may lack labels, if there are more labels than rows."""

_MOST_SPARE = 2000
"""Largest number of spare rows that are kept for the fit of a head."""


@dataclass(frozen=True, slots=True)
class SplitRows:
    """The rows of each split; no text is in two splits.

    Every beginning of `score_set` is label-balanced, because the score set of a round is such a beginning.
    """

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


def split_examples(problem: Problem, config: SelectionConfig) -> SplitRows:
    """Cut a problem's examples into splits; the same seed gives the same rows.

    Raises:
        InvalidVerbalizer: a label has a label word but no example.
        InvalidDataset: a label has no label word; or a text is in both dataset and test rows, and
            `splits.leaked_rows` is "reject".
        ClassTooSmall: a label has fewer examples than the splits and its quota need; the message
            names the label and the number.
        InvalidConfig: filtering keeps fewer examples than a permutation needs.
    """
    labels = problem.task.labels
    quotas = Quotas.of(labels, config)
    _check_keep(labels, quotas, config)
    check_labels(labels, problem.examples, "dataset")
    train = clean_examples(problem.examples)
    test, leaked = CleanExamples([], 0, []), 0
    if problem.test is not None:
        check_labels(labels, problem.test, "test")
        test = clean_examples(problem.test)
        train, leaked = drop_leaks(train, test, config)
    shuffled = _shuffle(train.examples, config.seed, "splits")
    held_out, rest = _take_test(shuffled, test.examples, problem.test is not None, labels, config)
    validation, rest = _take(rest, labels, _at_most(config.splits.validation, _VALIDATION_SHARE, len(rest)))
    left = len(rest) + len(validation)
    confirmation, rest = _take(rest, labels, _at_most(config.splits.confirmation, _CONFIRMATION_SHARE, left))
    score_set, rest = _take_score_set(rest, quotas, labels, config, left)
    candidates = _take_candidates(rest, labels, config)
    chosen = {example.row for example in candidates}
    beyond = [example for example in rest if example.row not in chosen]
    split = SplitRows(
        quotas=quotas,
        candidates=tuple(sorted(candidates, key=lambda example: example.row)),
        score_set=tuple(score_set),
        validation=tuple(validation),
        confirmation=tuple(confirmation),
        test=tuple(held_out),
        spare=tuple(beyond[:_MOST_SPARE]),
        unused=len(beyond),
        duplicates_dropped=train.duplicates + test.duplicates,
        conflicting_texts=len(train.conflicts) + len(test.conflicts),
        leaked_from_test=leaked,
        warnings=(),
    )
    check_sizes(split, labels, config)
    return _with_warnings(split, train, test, labels, config)


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


def _take_test(
    shuffled: list[Example], test: list[Example], is_given: bool, labels: Sequence[str], config: SelectionConfig
) -> tuple[list[Example], list[Example]]:
    most = config.splits.test
    if is_given:
        pool = _shuffle(test, config.seed, "test")
        chosen, _ = _take(pool, labels, len(pool) if most is None else most)
        return chosen, shuffled
    size = round(len(shuffled) * config.splits.held_out_share)
    return _take(shuffled, labels, size if most is None else min(size, most))


def _at_most(wanted: int, share: float, available: int) -> int:
    return min(wanted, int(available * share))


def _take(pool: list[Example], labels: Sequence[str], total: int) -> tuple[list[Example], list[Example]]:
    """The first `total` rows in proportion to the labels, and the remaining rows; both in the pool's order."""
    return _take_quotas(pool, share_proportionally(total, count_labels(pool, labels)))


def _take_quotas(pool: list[Example], quotas: dict[str, int]) -> tuple[list[Example], list[Example]]:
    return take_quotas(pool, quotas, lambda example: example.label)


def _take_score_set(
    pool: list[Example], quotas: Quotas, labels: Sequence[str], config: SelectionConfig, available: int
) -> tuple[list[Example], list[Example]]:
    candidates = min(config.filtering.candidates or len(pool), len(pool))
    wanted = _at_most(plan_rounds(candidates, config.filtering)[-1].score_size, _SCORE_SHARE, available)
    share = share_equally if config.balanced else share_proportionally
    taken, rest = _take_quotas(pool, share(wanted, _spare(pool, quotas, labels)))
    return _interleave(taken, labels), rest


def _spare(pool: list[Example], quotas: Quotas, labels: Sequence[str]) -> dict[str, int]:
    """Rows that each label can give to the score set: at most half of its rows, and none that its quota needs."""
    counts = count_labels(pool, labels)
    return {label: max(min(count // 2, count - quotas.needed(label)), min(count, 1)) for label, count in counts.items()}


def _interleave(examples: list[Example], labels: Sequence[str]) -> list[Example]:
    """Spread each label evenly over the list, so that every beginning has the labels in proportion."""
    groups = np.array([labels.index(example.label) for example in examples], dtype=np.intp)
    return [examples[index] for index in np.lexsort((groups, spread_evenly(groups)))]


def _take_candidates(rest: list[Example], labels: Sequence[str], config: SelectionConfig) -> list[Example]:
    most = config.filtering.candidates
    if most is None or len(rest) <= most:
        return rest
    share = share_equally if config.balanced else share_proportionally
    return _take_quotas(rest, share(most, count_labels(rest, labels)))[0]


def check_sizes(split: SplitRows, labels: Sequence[str], config: SelectionConfig) -> None:
    """Refuse splits with too few candidates, or with a label that has no row in a split with a place for each label.

    Raises:
        InvalidDataset, ClassTooSmall: see `split_examples`.
    """
    if len(split.candidates) < config.num_demonstrations:
        raise InvalidDataset(
            f"{len(split.candidates)} candidates are left after the other splits, fewer than "
            f"num_demonstrations ({config.num_demonstrations}); add examples",
            field="dataset",
        )
    candidates = count_labels(split.candidates, labels)
    for name, rows in _splits_with_labels(split):
        for label in _missing_labels(rows, labels):
            if not _FEW_ROWS <= len(rows) < len(labels):  # such a split cannot hold every label; a warning says so
                _refuse_class(label, name, 1, 0)
    for label, quota in (split.quotas.by_label or {}).items():
        if candidates[label] < quota:
            _refuse_class(label, "candidate", quota, candidates[label])


def _splits_with_labels(split: SplitRows) -> tuple[tuple[str, tuple[Example, ...]], ...]:
    """The splits in which every label should have a row, by name."""
    return ("test", split.test), ("validation", split.validation), ("score", split.score_set)


def _missing_labels(rows: Sequence[Example], labels: Sequence[str]) -> list[str]:
    return [label for label, count in count_labels(rows, labels).items() if not count]


def _refuse_class(label: str, split: str, needed: int, found: int) -> None:
    raise ClassTooSmall(
        f"label {label!r} is too rare: it needs {needed} {split} row{'s' * (needed > 1)}, but only {found} are left "
        "after the other splits; add examples of it, or remove the label",
        field="dataset.label",
    )


def _with_warnings(
    split: SplitRows, train: CleanExamples, test: CleanExamples, labels: Sequence[str], config: SelectionConfig
) -> SplitRows:
    warnings = list[str]()
    for name, cleaned in (("dataset", train), ("test", test)):
        if cleaned.conflicts:
            warnings.append(
                f"{len(cleaned.conflicts)} texts of the {name} rows have more than one label and were set aside "
                f"(first rows: {list_rows(cleaned.conflicts)})"
            )
    for name, wanted, found in (
        ("validation", config.splits.validation, len(split.validation)),
        ("confirmation", config.splits.confirmation, len(split.confirmation)),
    ):
        if found < wanted:
            warnings.append(f"{found} {name} rows instead of {wanted}: the dataset is small")
    for name, rows in _splits_with_labels(split):
        missing = _missing_labels(rows, labels)
        if missing:
            warnings.append(f"{len(missing)} of {len(labels)} labels have none of the {len(rows)} {name} rows")
    if config.num_demonstrations < len(labels):
        warnings.append(
            f"a prompt of {config.num_demonstrations} demonstrations shows only some of the {len(labels)} labels"
        )
    elif config.balanced and config.num_demonstrations % len(labels):
        warnings.append(
            f"{config.num_demonstrations} demonstrations cannot be split evenly over {len(labels)} labels; "
            "quotas differ by one"
        )
    if split.leaked_from_test:
        warnings.append(f"{split.leaked_from_test} texts are in the test rows too and were left out of the dataset")
    return replace(split, warnings=tuple(warnings))

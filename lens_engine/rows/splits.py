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
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidDataset, join_faults
from lens_engine.plan import spread_evenly
from lens_engine.randomness import make_generator
from lens_engine.rows.cleaning import CleanRows, clean_problem
from lens_engine.rows.label_rows import serve_labels
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import Quotas, count_labels, take_quotas
from lens_engine.rows.split_sizes import LabelCounts, SplitSizes
from lens_engine.rows.split_warnings import warn_of_splits
from lens_engine.task.template import Task
from lens_engine.task.wording import show_count, show_label
from lens_engine.types import Example


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
    spare: tuple[Example, ...]  #: rows beyond `filtering.candidates`; a head may be fitted on them
    unused: int  #: number of rows beyond `filtering.candidates`
    duplicates_dropped: int
    conflicting_texts: int
    leaked_from_test: int
    warnings: tuple[str, ...]
    left_out: tuple[str, ...] = ()  #: labels that were left out as too rare
    notes: tuple[str, ...] = ()
    """The warnings, with the lines of rows. Results have `warnings`, because equal rows of two formats have equal
    results."""
    skipped_too_long: int = 0  #: rows left out because their texts are equal after the cut
    trimmed_too_long: int = 0  #: rows whose text was cut because of its length
    most_tokens: int | None = None  #: largest length of a rendered text that is not cut; None if none is cut

    @property
    def pool_rows(self) -> tuple[Example, ...]:
        """The labelled rows that no split judges with, from which the pool is drawn."""
        return (*self.candidates, *self.score_set, *self.spare)


def split_examples(problem: Problem, config: SelectionConfig) -> SplitRows:
    """Cut a problem's examples into splits; the same seed gives the same rows.

    Raises:
        InvalidVerbalizer: a label has a label word but no example, or two labels are spellings of one label.
        InvalidDataset: a label has no label word, and is not left out as too rare; or the test rows have every text
            of the dataset.
        ClassTooSmall: labels have fewer rows than the splits need, and `labels.rare` is "reject"; the error lists the
            labels and the number that they need.
        InvalidConfig: filtering keeps fewer examples than a permutation needs, or an option makes a split too small
            for the labels.
    """
    rows = clean_problem(problem, config.labels)
    if rows.leaked and not rows.dataset.by_text:
        raise InvalidDataset(
            "the test rows have every text of the dataset, as if both were the same file; give other rows as test, or "
            f"none: then {config.splits.held_out_share:.0%} of the dataset are held out",
            field="test",
        )
    served = serve_labels(problem.task, rows, config)
    known, sizes = frozenset(problem.task.labels), served.sizes
    _check_keep(sizes, config)
    pool = _draw(rows.dataset, known, sizes, config.seed, "splits")
    if rows.test is None:
        test, pool = _cut(pool, sizes.test)
    else:
        test, _ = _cut(_draw(rows.test, known, sizes, config.seed, "test"), sizes.test)
    validation, confirmation, score_set, candidates, beyond = _cut(
        pool, sizes.validation, sizes.confirmation, sizes.score_set, sizes.candidates
    )
    _check_candidates(len(candidates), config)
    return SplitRows(
        task=served.task,
        quotas=sizes.quotas,
        candidates=tuple(sorted(candidates, key=lambda example: example.row)),
        score_set=tuple(_interleave(score_set, served.task.labels)),
        validation=tuple(validation),
        confirmation=tuple(confirmation),
        test=tuple(test),
        spare=tuple(beyond),
        unused=len(beyond),
        duplicates_dropped=sum(len(upload.duplicates) for upload in rows.uploads.values()),
        conflicting_texts=sum(len(upload.conflicts) for upload in rows.uploads.values()),
        leaked_from_test=len(rows.leaked),
        warnings=tuple(warn_of_splits(rows, served, config, lines=False)),
        left_out=served.dropped,
        notes=tuple(warn_of_splits(rows, served, config, lines=True)),
    )


def _check_keep(sizes: SplitSizes, config: SelectionConfig) -> None:
    """Refuse a `filtering.keep` that cannot fill the quotas, whichever label gets the odd place."""
    quotas, num_labels = sizes.quotas, len(sizes.candidates)
    least = quotas.num_demonstrations if quotas.by_label is None else max(quotas.by_label.values()) * num_labels
    if config.filtering.keep < least:
        raise InvalidConfig(
            f"filtering.keep is {config.filtering.keep}, and {config.num_demonstrations} demonstrations of "
            f"{num_labels} labels need at least {least} examples to choose from; raise it",
            field="options.filtering.keep",
        )


def _draw(rows: CleanRows, known: frozenset[str], sizes: SplitSizes, seed: int, stage: str) -> list[Example]:
    """The rows of the labels that have a size, in random order. The order depends on all rows of `known` labels."""
    examples = [example for example in rows.examples if example.label in known]
    order = make_generator(seed, stage).permutation(len(examples))
    return [examples[index] for index in order if examples[index].label in sizes.candidates]


def _cut(pool: list[Example], *sizes: LabelCounts) -> list[list[Example]]:
    """For each of `sizes` the next rows of each label, and at last the remaining rows; all in the pool's order."""
    parts = list[list[Example]]()
    for counts in sizes:
        part, pool = take_quotas(pool, counts, lambda example: example.label)
        parts.append(part)
    return [*parts, pool]


def _interleave(examples: list[Example], labels: Sequence[str]) -> list[Example]:
    """Spread each label evenly over the list, so that every beginning has the labels in proportion."""
    groups = np.array([labels.index(example.label) for example in examples], dtype=np.intp)
    return [examples[index] for index in np.lexsort((groups, spread_evenly(groups)))]


def _check_candidates(number: int, config: SelectionConfig) -> None:
    if number < config.num_demonstrations:
        raise InvalidDataset(
            f"{number} candidates are left after the other splits, fewer than "
            f"num_demonstrations ({config.num_demonstrations}); add examples",
            field="dataset",
        )


def check_sizes(split: SplitRows, config: SelectionConfig) -> None:
    """Refuse splits that have become too small after long texts were left out.

    Raises:
        InvalidDataset: there are too few candidates.
        ClassTooSmall: a label has no row in a split with a place for each label, or too few candidates.
    """
    _check_candidates(len(split.candidates), config)
    parts = (split.test, split.validation, split.confirmation, split.score_set, split.candidates)
    sizes = SplitSizes(split.quotas, *(count_labels(part, split.task.labels) for part in parts))
    if lacks := sizes.find_lacks():
        raise join_faults([_too_few_short(label, name, sizes) for label, name in lacks.items()])


def _too_few_short(label: str, split: str, sizes: SplitSizes) -> ClassTooSmall:
    is_candidate = split == "candidate"
    needed, found = (sizes.quotas.needed(label), sizes.candidates[label]) if is_candidate else (1, 0)
    return ClassTooSmall(
        f"label {show_label(label)} is too rare: it needs {show_count(needed, f'{split} row')}, and {found} are left "
        "without the texts that are too long for the model's context; add shorter examples of it, or remove the label",
        field="dataset.label",
    )

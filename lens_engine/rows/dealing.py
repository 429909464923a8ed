"""Deals labelled rows: to the search, to the judging, or to neither.

A prompt is not trained on rows, so every row judges each contender that does not show it. With few rows all of them
judge, and sets of demonstrations are drawn. From 100 rows on LENS finds them, on search rows that judge no prompt.
Whatever a row does, it may be a demonstration that is found for an input, and classifiers are fitted on all.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidDataset
from lens_engine.prompt.pool import MOST_POOL_ROWS, Pool
from lens_engine.prompt.template import Task
from lens_engine.randomness import make_generator
from lens_engine.rows.cleaning import clean_problem, serve_labels, warn_of_rows
from lens_engine.rows.plan import spread_evenly
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import Quotas, count_labels, share_proportionally, take_quotas
from lens_engine.types import Example

LEAST_ROWS = 10
"""Fewest labelled rows with which there is a result."""

SEARCH_FROM = 100
"""Number of labelled rows from which on LENS searches."""


class LensRows(NamedTuple):
    """What the search rows do in LENS. A row is in several, and is left out where it would judge itself."""

    candidates: tuple[Example, ...]  #: that may be demonstrations (D)
    score_set: tuple[Example, ...]  #: on which InfoScores are computed (S)
    validation: tuple[Example, ...]  #: on which permutations are ranked (V)


@dataclass(frozen=True, slots=True)
class DealtRows:
    """The usable rows, and what each does. No text is in two of the four tuples."""

    task: Task  #: the problem's, without the labels that were left out as too rare
    quotas: Quotas  #: of the demonstrations in a permutation
    search: tuple[Example, ...]  #: of the search of LENS, spread over the labels; none with few rows
    judging: tuple[Example, ...]  #: that judge contenders, spread over the labels
    rest: tuple[Example, ...]  #: all other labelled rows
    test: tuple[Example, ...]  #: of the test rows, a sample with the labels in proportion; none if none were given
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
    most_tokens: int | None = None  #: largest length of a text, without its template, that is not cut; None before

    @property
    def labelled(self) -> tuple[Example, ...]:
        """Every labelled row but the test rows: judging rows first."""
        return (*self.judging, *self.search, *self.rest)

    @property
    def columns(self) -> tuple[Example, ...]:
        """The rows of the table of answers. The first, the judging rows, judge prompts; all of them judge classifiers,
        of which the search chooses nothing."""
        return (*self.judging, *self.search)

    @property
    def proposable(self) -> tuple[Example, ...]:
        """The rows of which fixed sets are made: the search rows, or all where nothing is searched."""
        return self.search or self.judging


def deal_rows(problem: Problem, config: SelectionConfig) -> DealtRows:
    """Deal a problem's examples; the same seed gives the same rows.

    Raises:
        InvalidVerbalizer: a label has a label word but no example, or two labels are spellings of one label.
        InvalidDataset: a label has no label word, and is not left out as too rare; or there are fewer than ten usable
            rows; or the test rows have every text of the dataset.
        ClassTooSmall: labels have fewer than two rows, and `labels.rare` is "reject".
    """
    rows = clean_problem(problem, config.labels)
    if rows.leaked and not rows.dataset.by_text:
        raise InvalidDataset(
            "the test rows have every text of the dataset, as if both were the same file; give other rows as test, or "
            "none: then every row is judged by cross-validation",
            field="test",
        )
    served = serve_labels(problem.task, rows, config.labels)
    labels = served.task.labels
    usable = _shuffle(rows.dataset.examples, labels, config.seed, "rows")
    if len(usable) < LEAST_ROWS:
        raise InvalidDataset(
            f"the dataset has {len(usable)} usable rows; the least is {LEAST_ROWS}, two of each label; add rows",
            field="dataset",
        )
    search, judging, rest = _deal(usable, labels, config)
    test = [] if rows.test is None else _shuffle(rows.test.examples, labels, config.seed, "test")
    if config.rows.test is not None:
        test, _ = _take(test, labels, config.rows.test)
    spread = tuple(_interleave(search, labels))
    shown = pick_lens_rows(spread, config).candidates or judging
    quotas = Quotas.of(count_labels(search or judging, labels), count_labels(shown, labels), config)
    return DealtRows(
        task=served.task,
        quotas=quotas,
        search=spread,
        judging=tuple(_interleave(judging, labels)),
        rest=tuple(rest),
        test=tuple(test),
        duplicates_dropped=sum(len(upload.duplicates) for upload in rows.uploads.values()),
        conflicting_texts=sum(len(upload.conflicts) for upload in rows.uploads.values()),
        leaked_from_test=len(rows.leaked),
        warnings=tuple(warn_of_rows(rows, served, quotas, len(usable), lines=False)),
        left_out=served.dropped,
        notes=tuple(warn_of_rows(rows, served, quotas, len(usable), lines=True)),
    )


def _deal(
    usable: list[Example], labels: Sequence[str], config: SelectionConfig
) -> tuple[list[Example], list[Example], list[Example]]:
    """Search rows, judging rows, and the rest."""
    number, options = len(usable), config.rows
    num_search = min(options.search, number - min(options.judging, (number + 1) // 2)) if number >= SEARCH_FROM else 0
    search, others = _take(usable, labels, num_search if num_search > 1 else 0)  # one row cannot be judged by another
    judging, rest = _take(others, labels, options.judging)
    return search, judging, rest


def _take(rows: list[Example], labels: Sequence[str], number: int) -> tuple[list[Example], list[Example]]:
    """The first rows of each label, in proportion, and the others."""
    return take_quotas(rows, share_proportionally(number, count_labels(rows, labels)), lambda one: one.label)


def _shuffle(rows: Sequence[Example], labels: Sequence[str], seed: int, stage: str) -> list[Example]:
    """The rows of these labels in random order."""
    examples, known = [one for one in rows if one.label in labels], make_generator(seed, stage)
    return [examples[index] for index in known.permutation(len(examples))]


def _interleave(examples: list[Example], labels: Sequence[str]) -> list[Example]:
    """Spread each label evenly over the list, so that every beginning has the labels in proportion."""
    groups = np.array([labels.index(example.label) for example in examples], dtype=np.intp)
    return [examples[index] for index in np.lexsort((groups, spread_evenly(groups)))] if examples else []


def pick_lens_rows(search: tuple[Example, ...], config: SelectionConfig) -> LensRows:
    """The search rows as LENS takes them. Validation rows come from their end; each beginning and end has the labels in
    proportion."""
    options = config.search
    most = min(options.validation, len(search) // 2 if options.is_apart else len(search))
    validation = search[len(search) - most :]
    others = search[: len(search) - most] if options.is_apart else search
    return LensRows(others[: config.filtering.candidates], others[: config.filtering.max_score_size], validation)


def pick_fit_rows(rows: DealtRows, demonstrations: Collection[int], total: int) -> tuple[Example, ...]:
    """All judging rows, then others in proportion to their labels, until there are `total`.

    None is a demonstration (`Example.row`): after its own text and label, a row is no test of a prompt.
    """
    judging, others = (
        [one for one in part if one.row not in demonstrations] for part in (rows.judging, (*rows.search, *rows.rest))
    )
    labels = tuple(dict.fromkeys(example.label for example in others))
    quotas = share_proportionally(max(total - len(judging), 0), count_labels(others, labels))
    return (*judging, *take_quotas(others, quotas, lambda example: example.label)[0])


def count_fit_rows(rows: DealtRows, total: int) -> int:
    """The most rows that `pick_fit_rows` returns."""
    others = len(rows.search) + len(rows.rest)
    return len(rows.judging) + max(min(total - len(rows.judging), others), 0)


def index_rows(examples: Sequence[Example]) -> dict[int, int]:
    """The place of each row, by its number."""
    return {one.row: place for place, one in enumerate(examples)}


class DrawnPool(NamedTuple):
    """A pool, and how many rows were left out of it."""

    pool: Pool
    left_out: int


def draw_pool(examples: Sequence[Example], seed: int, most: int = MOST_POOL_ROWS) -> DrawnPool:
    """The pool of these examples; of more than `most`, that of a random sample with the labels in proportion.

    The same examples and seed give the same pool, whatever the order of the examples is. Every label keeps a row if
    there are at most `most` labels.
    """
    if len(examples) <= most:
        return DrawnPool(Pool.of(examples), 0)
    ordered = sorted(examples, key=lambda example: example.row)
    quotas = share_proportionally(most, dict(sorted(Counter(example.label for example in ordered).items())))
    order = make_generator(seed, "pool").permutation(len(ordered))
    taken, left_out = take_quotas((ordered[place] for place in order), quotas, lambda example: example.label)
    return DrawnPool(Pool.of(taken), len(left_out))

"""Arithmetic of the splits: how many rows of each label every split has. It needs the numbers of rows, not the rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from lens_engine.config import SelectionConfig
from lens_engine.plan import plan_rounds
from lens_engine.rows.quotas import Quotas, share_equally, share_proportionally

_VALIDATION_SHARE, _CONFIRMATION_SHARE, _SCORE_SHARE = 0.25, 0.20, 0.20
"""Largest share of the rows left after the test rows that a split may take, so that small uploads work."""
_FEW_ROWS = {"test": 16, "validation": 16, "score": 10}
"""Rows of a split from which on it may lack labels, if there are more labels than rows. A score set compares candidates
of one label with each other, so it needs the fewest.
"""
LabelCounts = dict[str, int]
"""Number of rows of each label, in the order of the labels."""


@dataclass(frozen=True, slots=True)
class SplitSizes:
    """Number of rows of each label in each split."""

    quotas: Quotas
    test: LabelCounts
    validation: LabelCounts
    confirmation: LabelCounts
    score_set: LabelCounts
    candidates: LabelCounts

    @property
    def with_every_label(self) -> dict[str, LabelCounts]:
        """The splits in which every label should have a row, by name."""
        return {"test": self.test, "validation": self.validation, "score": self.score_set}

    def find_lacks(self) -> dict[str, str]:
        """The first split in which a label has too few rows, for each such label.

        A split of `_FEW_ROWS` or more that has fewer rows than labels cannot hold every label; a warning says so.
        """
        lacks: dict[str, str] = {}
        for name, counts in self.with_every_label.items():
            if _FEW_ROWS[name] <= sum(counts.values()) < len(counts):
                continue
            for label, count in counts.items():
                if not count:
                    lacks.setdefault(label, name)
        for label, quota in (self.quotas.by_label or {}).items():
            if self.candidates[label] < quota:
                lacks.setdefault(label, "candidate")
        return lacks


def size_splits(
    available: Mapping[str, int], test_available: Mapping[str, int] | None, config: SelectionConfig
) -> SplitSizes:
    """How many rows of each label every split has.

    Args:
        available: number of rows of each label in the dataset.
        test_available: the same in the test rows; None if test rows are held out of the dataset.
    """
    quotas = Quotas.of(tuple(available), config)
    rest = dict(available)
    most = config.splits.test
    if test_available is not None:
        num_test = sum(test_available.values())
        test = share_proportionally(num_test if most is None else most, test_available)
    else:
        size = round(sum(rest.values()) * config.splits.held_out_share)
        test = share_proportionally(size if most is None else min(size, most), rest)
        rest = _less(rest, test)
    left = sum(rest.values())
    validation = share_proportionally(_at_most(config.splits.validation, _VALIDATION_SHARE, left), rest)
    rest = _less(rest, validation)
    confirmation = share_proportionally(_at_most(config.splits.confirmation, _CONFIRMATION_SHARE, left), rest)
    rest = _less(rest, confirmation)
    score_set = _size_score_set(rest, quotas, config, left)
    rest = _less(rest, score_set)
    return SplitSizes(quotas, test, validation, confirmation, score_set, _size_candidates(rest, config))


def _less(counts: Mapping[str, int], taken: Mapping[str, int]) -> LabelCounts:
    return {label: count - taken[label] for label, count in counts.items()}


def _at_most(wanted: int, share: float, available: int) -> int:
    return min(wanted, int(available * share))


def _size_score_set(rest: LabelCounts, quotas: Quotas, config: SelectionConfig, available: int) -> LabelCounts:
    """At most half of the rows of each label, and none that its quota needs."""
    num_left = sum(rest.values())
    candidates = min(config.filtering.candidates or num_left, num_left)
    wanted = _at_most(plan_rounds(candidates, config.filtering)[-1].score_size, _SCORE_SHARE, available)
    spare = {label: max(min(count // 2, count - quotas.needed(label)), min(count, 1)) for label, count in rest.items()}
    return _share(wanted, spare, config)


def _size_candidates(rest: LabelCounts, config: SelectionConfig) -> LabelCounts:
    most = config.filtering.candidates
    return rest if most is None or sum(rest.values()) <= most else _share(most, rest, config)


def _share(total: int, available: LabelCounts, config: SelectionConfig) -> LabelCounts:
    return share_equally(total, available) if config.balanced else share_proportionally(total, available)

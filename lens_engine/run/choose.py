"""Choose: the contender to use, by the table of answers; and what to expect of it.

A prompt is not trained on rows, so a row is a test of every contender that does not show it. The best of many on the
same rows is better there than on new ones. So the figure of the choice comes from the bootstrap bias corrected
cross-validation of Tsamardinos, Greasidou & Borboudakis ("Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation", Machine Learning 107, 2018): rows are drawn with replacement, the choice is made again on
them, and its figure on the rows that were not drawn counts. It asks the model nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from lens_engine.classifier.quality import wilson
from lens_engine.types import FloatArray, IndexArray

Choose = Callable[[FloatArray], int]
"""Makes a choice on rows with weights `[rows]`: the place of a contender."""

BAGS, FEW_BAGS = 500, 50
"""Samples of an estimate: of a result, and of one that is shown before the end."""

_BAGS_OF_CHANCES = 200
_LEAST_ROWS_FOR_PRICES, _LEAST_ROWS_TO_END = 30, 50
_MOST_BEHIND = 0.02
"""By how much a cheaper contender may be behind, beside the standard error: that of few rows is wide."""
_SHARE_OF_ROWS = 0.8
"""Rows of an interval, as a share of those that judged: other rows make another choice, which adds to their noise."""
_SUBSAMPLES = 40
MORE_ROWS = 50
"""Number of further labelled rows of which an estimate says what they would be worth."""


@dataclass(frozen=True)
class Scores:
    """The scores of contenders on columns of the table.

    Attributes:
        values: `[contenders, rows]`, whose mean over rows is the figure (`value_rows`); NaN where there is no answer.
        smoothed: `[contenders, rows]`, the values with hits smoothed (`smooth_rows`); their mean has less noise.
        prices: `[contenders]`, of an answer; the less, the cheaper.
        kinds: `[contenders]`; smoothed values rank contenders of one kind: all prompts, or one classifier.
    """

    values: FloatArray
    smoothed: FloatArray
    prices: FloatArray
    kinds: IndexArray

    def take(self, places: Sequence[int] | IndexArray) -> Self:
        """The scores of some contenders."""
        own = np.asarray(places, dtype=np.intp)
        names = ("values", "smoothed", "prices", "kinds")
        return replace(self, **{name: getattr(self, name)[own] for name in names})

    def lower(self, by: FloatArray) -> Self:
        """The scores, each contender's `[contenders]` less than they are."""
        return replace(self, values=self.values - by[:, None], smoothed=self.smoothed - by[:, None])

    @property
    def num_rows(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def _known(self) -> FloatArray:
        """`[contenders, rows]`, 1 where there is an answer."""
        return (~np.isnan(self.values)).astype(np.float64)

    @cached_property
    def _filled(self) -> FloatArray:
        """`[contenders, rows]`, the values; 0 where there is no answer."""
        return np.nan_to_num(self.values)

    def means(self, weights: FloatArray) -> FloatArray:
        """`[bags, contenders]`, what ranks contenders on their rows of each bag `[bags, rows]`; -inf on none.

        It is the smoothed figure, moved so that the best contender of each kind has its own figure.
        """
        figures, means = self._average(self._filled, weights), self._average(np.nan_to_num(self.smoothed), weights)
        gaps = np.nan_to_num(figures) - np.nan_to_num(means)  # both are -inf on no row
        for kind in np.unique(self.kinds):
            own = np.flatnonzero(self.kinds == kind)
            best = own[means[:, own].argmax(axis=1), None]
            means[:, own] += np.take_along_axis(gaps, best, axis=1)
        return means

    def _average(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        sums, counts = weights @ values.T, weights @ self._known.T
        return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1e-9), -np.inf))

    def average(self, weights: FloatArray) -> FloatArray:
        """`[contenders]`, the figure of each contender on its rows with these weights `[rows]`; -inf on none."""
        return np.asarray(self._average(self._filled, weights[None])[0])

    def lead(self, one: int, others: Sequence[int], weights: FloatArray) -> float:
        """By how much a contender leads the mean of others, each on the rows of `weights` `[rows]` that both answer."""
        rivals = list(others)
        both = weights * self._known[one] * self._known[rivals]  # [others, rows]
        counts = both.sum(axis=1)
        leads = (both * (self._filled[one] - self._filled[rivals])).sum(axis=1) / np.maximum(counts, 1e-9)
        return float(leads[counts > 0].mean()) if counts.any() else np.nan

    def choose(self, weights: FloatArray | None = None) -> int:
        """The cheapest within a standard error of the best, paired by row, and two points; `weights`: `[rows]`."""
        weights = np.ones(self.num_rows) if weights is None else weights
        return self._cheapest(weights, self.means(weights[None])[0])

    def _cheapest(self, weights: FloatArray, means: FloatArray) -> int:
        best = int(means.argmax())
        paired = weights * self._known * self._known[best]  # [contenders, rows]
        counts = np.maximum(paired.sum(axis=1), 1.0)
        differences = self._filled[best] - self._filled
        behind = (paired * differences).sum(axis=1) / counts
        spread = (paired * differences**2).sum(axis=1) / counts - behind**2
        errors = np.sqrt(np.maximum(spread, 0.0) / np.maximum(counts - 1, 1.0))
        is_level = np.isfinite(means) & (behind <= np.minimum(errors, _MOST_BEHIND))
        is_level[best] = True
        return int(np.lexsort((-means, np.where(is_level, self.prices, np.inf)))[0])

    def chances(self, rng: np.random.Generator) -> FloatArray:
        """`[2, contenders]`, the shares of bags in which each is best, and is chosen (on few rows: is best)."""
        bags = draw_bags(self.num_rows, _BAGS_OF_CHANCES, rng)
        means = self.means(bags)
        best = chosen = means.argmax(axis=1).tolist()
        if self.num_rows >= _LEAST_ROWS_FOR_PRICES:
            chosen = [self._cheapest(*pair) for pair in zip(bags, means, strict=True)]
        return np.array([np.bincount(one, minlength=len(self.values)) for one in (best, chosen)]) / len(bags)

    def what_is_left_to_gain(self, rng: np.random.Generator) -> float:
        """By how much the best contender, by hits, may lead the best by now: the mean over bags, times the share
        of the spread between contenders that is no noise. On few rows that share is unknown; then it is infinite."""
        if len(self.values) < 2:
            return 0.0
        if self.num_rows < _LEAST_ROWS_TO_END:
            return np.inf
        means = self._average(self._filled, draw_bags(self.num_rows, _BAGS_OF_CHANCES, rng))
        own = self.average(np.ones(self.num_rows))
        means = np.where(np.isfinite(means), means, own)  # a bag may have no row that a contender answers
        gain = float((means.max(axis=1) - means[:, own.argmax()]).mean())
        centred = means - means.mean(axis=1, keepdims=True)
        noise, spread = float(centred.var(axis=0).mean()), float(own.var())
        return gain * max(1 - noise / spread, 0.0) if spread > 0 else 0.0


def draw_bags(num_rows: int, number: int, rng: np.random.Generator) -> FloatArray:
    """`[bags, rows]`: how often each row was drawn, with replacement."""
    drawn = rng.integers(num_rows, size=(number, num_rows))
    bags = np.zeros((number, num_rows))
    np.add.at(bags, (np.arange(number)[:, None], drawn), 1.0)
    return bags


@dataclass(frozen=True)
class Corrected:
    """What to expect of a choice."""

    figure: float  #: mean over the bags of the figure on the rows that were not drawn
    accuracy: float  #: the same of the accuracy
    low: float  #: of the 95 % interval of the accuracy
    high: float
    beats: Mapping[str, float]  #: share of the bags in which the choice beats each rival on the rows not drawn
    naive: float  #: accuracy of the choice on all its rows


def correct(
    scores: Scores,
    choose: Choose,
    hits: FloatArray,
    rivals: Mapping[str, Sequence[int]],
    rng: np.random.Generator,
    bags: int,
) -> Corrected:
    """The figure of the choice without the optimism of choosing.

    Args:
        choose: makes the choice; what it never chooses is a rival alone.
        hits: `[contenders, rows]`, 1 where the answer is right.
        rivals: contenders that the choice is compared with, by name; the mean of several counts.
        bags: number of samples.
    """
    by_hits, chosen = replace(scores, values=hits), choose(np.ones(scores.num_rows))
    found, wins = list[tuple[float, float]](), {name: list[float]() for name in rivals}
    for inside in draw_bags(scores.num_rows, bags, rng):
        one, outside = choose(inside), (inside == 0).astype(np.float64)
        figures = scores.average(outside)
        if not np.isfinite(figures[one]):
            continue
        found.append((float(figures[one]), float(by_hits.average(outside)[one])))
        for name, places in rivals.items():
            lead = scores.lead(one, places, outside)
            if np.isfinite(lead):
                wins[name].append(float(lead > 0) + 0.5 * float(lead == 0))
    known = hits[chosen][~np.isnan(hits[chosen])]
    naive = float(known.mean()) if len(known) else 0.0
    figure, accuracy = np.mean(found, axis=0).tolist() if found else (naive, naive)
    low, high = wilson(accuracy, max(_SHARE_OF_ROWS * len(known), 1))
    beats = {name: float(np.mean(one)) for name, one in wins.items() if one}
    return Corrected(figure, accuracy, low, high, beats, naive)


def measure_growth(scores: Scores, choose: Choose, rng: np.random.Generator) -> float | None:
    """What `MORE_ROWS` further rows would add to the figure of the choice; None with too few rows to tell.

    The choice is made on a half and on four fifths of the rows and measured on the others. Its figure is taken to
    approach its limit with one over the square root of the number of rows.
    """
    n = scores.num_rows
    few, many = n // 2, 4 * n // 5
    if few < 5 or many == few:
        return None
    found = {size: [_choose_on(scores, choose, size, rng) for _ in range(_SUBSAMPLES)] for size in (few, many)}
    at_few, at_many = (float(np.nanmean(found[size])) for size in (few, many))
    slope = max(at_many - at_few, 0.0) / (few**-0.5 - many**-0.5)
    return round(float(slope * (n**-0.5 - (n + MORE_ROWS) ** -0.5)), 3)


def _choose_on(scores: Scores, choose: Choose, size: int, rng: np.random.Generator) -> float:
    """The figure, on the other rows, of the choice on a random part of the rows."""
    inside = np.zeros(scores.num_rows)
    inside[rng.permutation(scores.num_rows)[:size]] = 1.0
    figure = scores.average(1.0 - inside)[choose(inside)]
    return float(figure) if np.isfinite(figure) else np.nan

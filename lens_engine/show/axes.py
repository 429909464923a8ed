"""Where a figure stands on a chart."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """A range of figures, and the range of places on which it is drawn."""

    low: float
    high: float
    start: float  #: place of `low`
    end: float  #: place of `high`
    ticks: tuple[float, ...]
    shown: str = "{:.2f}"  #: how a tick is written

    def at(self, value: float) -> float:
        """Place of a figure; one out of the range stands at its end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)


def fit_shares(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis of shares that holds all values: within 0 and 1, and at least a tenth long."""
    found = [0.5, *values][1:] or [0.0, 1.0]
    low, high = max(min(found) - 0.02, 0.0), min(max(found) + 0.02, 1.0)
    low, high = (max(min(low, 0.9), 0.0), min(max(high, low + 0.1), 1.0)) if high - low < 0.1 else (low, high)
    ticks = list_ticks(low, high)
    is_whole = all(abs(100 * tick - round(100 * tick)) < 1e-6 for tick in ticks)
    return Axis(low, high, start, end, ticks, "{:.0%}" if is_whole else "{:.1%}")


def list_ticks(low: float, high: float, most: int = 5) -> tuple[float, ...]:
    """Round figures between the ends, at most `most`."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in _STEPS if one * power >= rough - 1e-12)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(round(number * step, 10) for number in range(first, last + 1))

"""The verdict: which classifier to use, and how the ensemble compares with each rival."""

from dataclasses import dataclass

import numpy as np

from lens_engine.classifier.tested import ClassifierName, Comparison, Verdict
from lens_engine.judging.statistics import compare
from lens_engine.run.state import Evaluation
from lens_engine.run.wording import CLASSIFIERS, say_partial
from lens_engine.types import StopReason

_CLEARLY_CHEAPER = 0.8
"""Share of the ensemble's tokens per input below which a rival counts as cheaper."""


@dataclass(frozen=True)
class _Entry:
    name: ClassifierName
    correct: np.ndarray[tuple[int], np.dtype[np.bool_]]
    tokens: float  #: per input

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean())


def reach_verdict(evaluation: Evaluation, reason: StopReason = StopReason.COMPLETED) -> Verdict | None:
    """The verdict on what was tested; None if no ensemble was tested, or no rival.

    Args:
        reason: why the run ended.
    """
    entries = {
        name: _Entry(name, np.array(evaluation.correct[name]), evaluation.classifiers[name].tokens_per_input)
        for name in CLASSIFIERS
        if name in evaluation.classifiers
    }
    own = entries.get("ensemble")
    if own is None or len(entries) == 1:
        return None
    comparisons = tuple(
        compare(entry.name, own.correct, entry.correct) for entry in entries.values() if entry is not own
    )
    use = _choose(list(entries.values()), own)
    return Verdict(
        use=use.name,
        sentence=f"{say_partial(reason)} {_write_sentence(use, own, entries, comparisons)}".lstrip(),
        comparisons=comparisons,
    )


def _choose(entries: list[_Entry], own: _Entry) -> _Entry:
    """The cheapest within one standard error of the best. Lens's own, unless another is clearly cheaper or better."""
    best = max(entries, key=lambda entry: (entry.accuracy, entry is own))
    close = [entry for entry in entries if _is_within_one_error(entry, best)]
    if own in close:
        close = [entry for entry in close if entry is own or entry.tokens < _CLEARLY_CHEAPER * own.tokens]
    return min(close, key=lambda entry: (entry.tokens, -entry.accuracy))


def _is_within_one_error(entry: _Entry, best: _Entry) -> bool:
    """Whether the best leads by at most one standard error of the difference, paired by row."""
    differences = best.correct.astype(float) - entry.correct
    return bool(differences.mean() <= differences.std(ddof=1) / np.sqrt(len(differences)))


def _write_sentence(
    use: _Entry, own: _Entry, entries: dict[ClassifierName, _Entry], comparisons: tuple[Comparison, ...]
) -> str:
    opening = f"Use {CLASSIFIERS[use.name]}: {use.accuracy:.3f} on {len(use.correct)} test rows, {_show_price(use)}"
    if use is not own:
        lead = next(one for one in comparisons if one.rival == use.name)
        return f"{opening}; the ensemble has {own.accuracy:.3f}, {_show_price(own)} (p = {lead.p_value:.2g})."
    shown = [
        f"{CLASSIFIERS[one.rival]} has {entries[one.rival].accuracy:.3f} (p = {one.p_value:.2g})"
        for one in comparisons
        if one.rival in ("random_and_validation", "bag_of_words")
    ]
    return "; ".join([opening, *shown]) + "."


def _show_price(entry: _Entry) -> str:
    return f"for {entry.tokens:,.0f} tokens an input" if entry.tokens else "without a language model"

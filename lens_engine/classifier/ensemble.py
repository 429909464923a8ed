"""Ensembles: which prompts a classifier asks, how many of them, and with which head.

The members are ordered by greedy forward selection (Caruana et al., "Ensemble Selection from Libraries of Models", ICML
2004), so that the first k members are the ensemble of size k. Sizes and heads are compared by cross-validated
log-loss: the simplest head within one standard error of the best is proposed, and the smallest size within a quarter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lens_engine.classifier.bag_of_words import FittedWords, fit_bag_of_words
from lens_engine.classifier.fitting import can_fit, cross_validate, cross_validate_linear, fit_head
from lens_engine.classifier.heads import HEAD_KINDS, ArgmaxHead, Head, HeadKind, PromptsHeadKind
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs

_LINEAR_ROWS_PER_LABEL = 8
"""Fewest rows per label, on average, with which members are chosen by what they add to the head `linear`."""
_INVERSE_L2 = 0.1
_HEAD_ERRORS, _SIZE_ERRORS = 1.0, 0.25
"""Standard errors that a simpler head, or a smaller size, may be behind the best. A whole one for the size costs up to
three points of accuracy with few fit rows; see docs/decisions/0013-a-classifier-not-a-prompt.md."""


@dataclass(frozen=True)
class SizedHead:
    """A head on the first `size` members, fitted on all fit rows; `losses` are cross-validated `[rows]` (nats)."""

    size: int
    head: Head
    losses: FloatArray

    @property
    def log_loss(self) -> float | None:
        """Mean of the losses; None without fit rows."""
        return float(self.losses.mean()) if len(self.losses) else None


@dataclass(frozen=True)
class Frontier:
    """Every head on every size, and the ones that are proposed."""

    fitted: tuple[tuple[SizedHead, ...], ...]  #: by size, then by head, the simplest first
    proposed_heads: tuple[SizedHead, ...]  #: by size
    proposed: SizedHead

    @classmethod
    def unfitted(cls, head: Head) -> "Frontier":
        """One prompt with a head that was fitted on no rows."""
        alone = SizedHead(1, head, np.empty(0))
        return cls(((alone,),), (alone,), alone)


def order_members(
    label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray, size: int, head: HeadKind | Literal["auto"] = "auto"
) -> tuple[int, ...]:
    """Greedy forward selection: the next member is the prompt that lowers the cross-validated log-loss most.

    Args:
        label_log_probs: `[prompts, rows, labels]`; of two equally good prompts the earlier one is taken.
        gold: `[rows]`, index of each row's label.
        size: largest number of members.
        head: head of the ensemble; decides under which head the log-loss is measured.

    Returns:
        Indices of the members, in the order in which they were taken.
    """
    num_prompts, num_rows, num_labels = label_log_probs.shape
    is_linear = head in ("auto", "linear", "words") and num_rows >= _LINEAR_ROWS_PER_LABEL * num_labels
    kind: PromptsHeadKind = "linear" if is_linear else "argmax" if head == "argmax" else "prior"
    chosen = list[int]()
    while len(chosen) < min(size, num_prompts):
        losses = {
            one: _selection_loss(label_log_probs[[*chosen, one]], gold, kind)
            for one in range(num_prompts)
            if one not in chosen
        }
        chosen.append(min(losses, key=lambda one: (losses[one], one)))
    return tuple(chosen)


def fit_frontier(
    label_log_probs: LabelLogProbs | FloatArray,
    gold: IndexArray,
    kinds: Sequence[HeadKind] = HEAD_KINDS,
    texts: Sequence[str] | None = None,
) -> Frontier:
    """Fit each head on the first k members, for every k, and propose a head for each k and one k.

    Args:
        label_log_probs: `[members, rows, labels]` on the fit rows.
        gold: `[rows]`, index of each row's label.
        kinds: heads to choose from. A head that cannot be fitted on these rows is left out; if none is left, `prior`
            takes its place. Without fit rows, the first prompt with `argmax` is proposed.
        texts: texts of the fit rows; None leaves the head `words` out.
    """
    members, num_rows, num_labels = label_log_probs.shape
    if not num_rows:
        return Frontier.unfitted(ArgmaxHead())
    wanted = [kind for kind in HEAD_KINDS if kind in kinds and (kind != "words" or texts is not None)]
    fittable = [kind for kind in wanted if can_fit(kind, num_rows, num_labels)] or ["prior"]
    words = fit_bag_of_words(texts, gold, num_labels) if texts is not None and "words" in fittable else None
    fitted = tuple(
        tuple(_fit(kind, label_log_probs[:size], gold, words) for kind in fittable) for size in range(1, members + 1)
    )
    heads = tuple(first_within_errors(of_size, _HEAD_ERRORS) for of_size in fitted)
    return Frontier(fitted, heads, first_within_errors(heads, _SIZE_ERRORS))


def first_within_errors(candidates: Sequence[SizedHead], errors: float) -> SizedHead:
    """The first whose loss exceeds the lowest by at most this many standard errors of the difference, paired by row."""
    best = min(candidates, key=lambda one: float(one.losses.mean()))
    return next(one for one in candidates if one is best or _is_within(one.losses, best.losses, errors))


def _is_within(losses: FloatArray, best: FloatArray, errors: float) -> bool:
    differences = losses - best
    error = float(differences.std(ddof=1)) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return bool(differences.mean() <= errors * error)


def _fit(
    kind: HeadKind, label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray, words: FittedWords | None
) -> SizedHead:
    fitted = fit_head(kind, label_log_probs, gold, words)
    return SizedHead(len(label_log_probs), fitted.head, fitted.losses)


def _selection_loss(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray, kind: PromptsHeadKind) -> float:
    if kind == "linear":
        return float(cross_validate_linear(label_log_probs, gold, _INVERSE_L2).mean())
    return float(cross_validate(kind, label_log_probs, gold).mean())

"""Scorers that show hidden states."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lens_engine.errors import ModelError
from lens_engine.scoring.base import LabelScorer, Prefix
from lens_engine.scoring.cache.scorer import find_computing
from lens_engine.types import States


@runtime_checkable
class StatesScorer(LabelScorer, Protocol):
    """A scorer that also shows the hidden states of its model."""

    @property
    def num_layers(self) -> int:
        """Number of decoder layers; 0 if the scorer cannot find them, and then it shows no states."""
        ...

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """Hidden states of each query after one prefix.

        Args:
            prefix: computed once for all queries; () for none.
            queries: Q texts; none is empty.
            layers: numbers of decoder layers, from 1 (the output of the first) to `num_layers`; in any order. The model
                computes a query up to the highest.

        Returns:
            `states  # [layers, 2, Q, size]` float32, in the order of `layers` and `POOLINGS`: the state of the query's
            last token, and the mean over the query's tokens. States are outputs of decoder layers as they are: the
            final norm is not applied, not even to the last layer.

        Raises:
            PromptTooLong: a prefix with a query exceeds `max_prompt_tokens`.
            NonFiniteScore: the model returned NaN or an infinity.
            ValueError: there is no layer, or a layer is out of range.
        """
        ...


def find_states_scorer(scorer: LabelScorer) -> StatesScorer | None:
    """The scorer that shows the hidden states of this scorer's model; None if none does."""
    scorer = find_computing(scorer)
    return scorer if isinstance(scorer, StatesScorer) and scorer.num_layers else None


def require_states_scorer(scorer: LabelScorer) -> StatesScorer:
    """As `find_states_scorer`.

    Raises:
        ModelError: no scorer shows them.
    """
    found = find_states_scorer(scorer)
    if found is None:
        raise ModelError("the scorer shows no hidden states")
    return found

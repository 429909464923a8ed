"""Scorers that show hidden states."""

from lens_engine.scoring.base import LabelScorer, StatesScorer
from lens_engine.scoring.cache.scorer import find_computing


def find_states_scorer(scorer: LabelScorer) -> StatesScorer | None:
    """The scorer that shows the hidden states of this scorer's model; None if none does."""
    scorer = find_computing(scorer)
    return scorer if isinstance(scorer, StatesScorer) and scorer.num_layers else None

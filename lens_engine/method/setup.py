"""The setup of a run: the task, the options, the rows, and the price of scoring them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from lens_engine.config import USES, SelectionConfig, Use
from lens_engine.metering.prices import Prices
from lens_engine.prompt.pool import Pool
from lens_engine.prompt.template import Task
from lens_engine.rows.cleaning import count_near
from lens_engine.rows.dealing import DealtRows, DrawnPool, LensRows, draw_pool, pick_lens_rows
from lens_engine.types import FloatArray, Permutation


@dataclass(frozen=True)
class Setup:
    """What a run is made with."""

    tasks: tuple[Task, ...]  #: the task in each wording, as the model is asked
    config: SelectionConfig
    rows: DealtRows
    prices: Prices
    shows_states: bool = False  #: whether the scorer shows hidden states
    has_probabilities: bool = True  #: whether the scores are probabilities, and not answers alone
    bounds: tuple[int | None, ...] = (None,)  #: largest length of a demonstration that is not cut, in each wording

    @property
    def task(self) -> Task:
        """The task in the first wording, in which LENS searches and classifiers are made."""
        return self.tasks[0]

    @cached_property
    def pool(self) -> Pool:
        """The labelled rows, or a sample of them; demonstrations of an input are found among them."""
        return self.drawn_pool.pool

    @cached_property
    def drawn_pool(self) -> DrawnPool:
        return draw_pool(self.rows.labelled, self.config.seed)

    @cached_property
    def near_test_rows(self) -> int:
        """How many test rows have a text that is nearly equal to that of a labelled row."""
        return count_near(self.rows.test, self.rows.labelled)

    @property
    def uses(self) -> tuple[Use, ...]:
        """The uses that the model allows, that of the run first."""
        own = self.config.use
        return (own, *(use for use in USES if use != own)) if self.has_probabilities else (own,)

    @property
    def reads_label_probabilities(self) -> bool:
        """Whether a classifier that reads label probabilities is a candidate."""
        kind = self.config.classifier.kind
        if not self.has_probabilities or kind in ("none", "bag_of_words", "embeddings"):
            return False
        return kind == "label_probabilities" or not self.shows_states

    @cached_property
    def lens_rows(self) -> LensRows:
        """The search rows as LENS takes them."""
        return pick_lens_rows(self.rows.search, self.config)


@dataclass(frozen=True)
class Findings:
    """What LENS found; empty without a search."""

    finalists: tuple[Permutation, ...] = ()  #: the best permutations, as indices of `LensRows.candidates`, best first
    info_scores: Mapping[int, float] = field(default_factory=dict)  #: by row
    gains: Mapping[int, FloatArray] = field(default_factory=dict)  #: by row, on the first rows of the score set
    num_judged: int = 0  #: permutations ranked on all or some rows
    warnings: tuple[str, ...] = ()

"""Choosing by another method than LENS: zero-shot, random, random-and-validation, or a coreset method.

All of them choose among the candidates that LENS would filter, so that a comparison is one of methods. A coreset has no
order of its own: it is presented in a random one, as the paper does.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lens_engine.config import CoresetMethod, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.language_model.fine_tuning.evidence import Evidence, FineTuner
from lens_engine.metering.meter import Meter
from lens_engine.methods.coreset.selectors import SELECTORS
from lens_engine.methods.permutations import group_by_label, shuffle
from lens_engine.methods.random_permutations import RandomPermutations
from lens_engine.methods.random_search import RandomSearch
from lens_engine.pricing.prices import Cost, Planner
from lens_engine.randomness import make_generator
from lens_engine.run.state import RandomTally
from lens_engine.task.template import Task
from lens_engine.types import Permutation, Phase


@dataclass(frozen=True)
class BaselineChooser:
    """Chooses a permutation of the candidates by `config.method`, which is not "lens"."""

    task: Task
    config: SelectionConfig
    planner: Planner
    meter: Meter
    fine_tuner: FineTuner | None

    def check(self) -> None:
        """Find out before the run.

        Raises:
            InvalidConfig: a coreset method without a model that can be fine-tuned.
        """
        if self.config.method in SELECTORS and self.fine_tuner is None:
            raise InvalidConfig(
                f"method {self.config.method!r} chooses by a fine-tuned model, and this one cannot be fine-tuned; "
                "choose another method, or a model whose weights are here (in Python: pass a fine_tuner)",
                field="options.method",
            )

    def choose(self, tally: RandomTally, save: Callable[[RandomTally], None]) -> Permutation:
        """Indices into the candidates; none for zero-shot. `save` hears how far random-and-validation is.

        Raises:
            Stopped: from the meter.
            InvalidDataset, ModelError: from fine-tuning.
        """
        match self.config.method:
            case "lens":
                raise ValueError("LENS is no baseline")
            case "zero_shot":
                return ()
            case "random":
                return self.draw(0)
            case "random_and_validation":
                return self._search_at_random(tally, save)
            case method:
                return self._choose_coreset(method)

    def draw(self, number: int) -> Permutation:
        """The random permutation of this number."""
        return self._random.draw(number, 1)[0]

    @property
    def _random(self) -> RandomPermutations:
        return RandomPermutations(self.planner.rows, self.task, self.config)

    def _search_at_random(self, tally: RandomTally, save: Callable[[RandomTally], None]) -> Permutation:
        self.meter.enter(Phase.SEARCH, 1, 1)
        search = RandomSearch.over(self.planner, self.task, self.meter, np.empty((0, 0)))
        best = search.run(tally, self.planner.random_permutations, save).best
        return self.draw(0 if best is None else best)

    def _choose_coreset(self, method: CoresetMethod) -> Permutation:
        _, quotas = group_by_label(self.planner.rows.candidates, self.task, self.config)
        rng = make_generator(self.config.seed, method)
        return shuffle(SELECTORS[method](self._gather_evidence(), quotas, rng), rng)

    def _gather_evidence(self) -> Evidence:
        if self.fine_tuner is None:
            raise RuntimeError("check() was not asked")
        rows, cost = self.planner.rows, self.planner.fine_tuning()
        paid = Cost()

        def on_batch(done: int, total: int) -> None:
            """Pay for the rows up to here, as a share of the whole."""
            nonlocal paid
            due = Cost(0, cost.tokens * done // total)
            self.meter.spend(Cost(0, due.tokens - paid.tokens))
            paid = due

        self.meter.enter(Phase.FINE_TUNE, 1, 1)
        evidence = self.fine_tuner(
            self.task, rows.candidates, validation=rows.validation, seed=self.config.seed, on_batch=on_batch
        )
        self.meter.spend(Cost(0, cost.tokens - paid.tokens))
        return evidence

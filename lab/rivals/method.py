"""A coreset method: fine-tune the model on the candidates, and choose by its features, gradients or predictions.

A coreset has no order, so the demonstrations get a random order, as in the paper (section 4.1).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from lab.rivals.fine_tuning.evidence import Evidence, FineTuner, TuningRows
from lab.rivals.geometry import cal, herding, k_center
from lab.rivals.glister import glister
from lab.rivals.gradient_matching import craig, grad_match
from lab.rivals.hardness import entropy, forgetting, grand, least_confidence, margin
from lab.rivals.names import CORESET_METHODS, CoresetMethod
from lab.rivals.submodular import facility_location, graph_cut
from lens_engine.errors import NothingSelected
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.randomness import make_generator
from lens_engine.search.base import Method, PackedState, Run
from lens_engine.search.catalogue import Methods
from lens_engine.search.permutations import shuffle
from lens_engine.types import Permutation, Phase, StopReason

Select = Callable[[Evidence, tuple[int, ...]], list[int]]
"""Chooses rows of the pool: `select(evidence, quotas)` takes quotas[g] rows from group g.

With a single quota the choice is not label-balanced. Equal arguments give equal rows, in the order of choice; ties go
to the lower row.
"""

SELECTORS: dict[CoresetMethod, Select] = {
    "herding": herding,
    "least_confidence": least_confidence,
    "entropy": entropy,
    "margin": margin,
    "cal": cal,
    "forgetting": forgetting,
    "grand": grand,
    "craig": craig,
    "grad_match": grad_match,
    "facility_location": facility_location,
    "graph_cut": graph_cut,
    "glister": glister,
}


_READS = 3 * 5 + 2
"""Cost of fine-tuning, in passes that score all rows: five epochs of training (each costs three scoring passes), and
two passes that read gradients and features."""


def coreset_methods(fine_tuner: FineTuner) -> Methods:
    """The coreset methods by name, for `select_support_examples`."""
    return {name: partial(Coreset, name=name, fine_tuner=fine_tuner) for name in CORESET_METHODS}


class Coreset(Method[Permutation | None]):
    """A method that chooses by the selector `name`. Its fine-tuning is charged to the phase `filter`."""

    def __init__(self, run: Run, name: CoresetMethod, fine_tuner: FineTuner) -> None:
        super().__init__(run)
        self.name = name
        self.fine_tuner = fine_tuner

    def price(self) -> dict[Phase, Cost]:
        """The cost of fine-tuning, as the tokens whose scoring takes equally long."""
        rows = self.run.rows
        reads = len(rows.candidates) * _READS + len(rows.validation)
        return {Phase.FILTER: Cost(0, round(reads * self.run.prices.lengths.query))}

    def start(self) -> None:
        return None

    def steps(self, state: Permutation | None, meter: Meter) -> Iterator[Permutation | None]:
        """Fine-tune, then choose: one step.

        Raises:
            Stopped: from the meter.
            InvalidDataset, ModelError: from fine-tuning.
        """
        if state is None:
            _, quotas = self.run.rows.quotas.group(self.run.task.index_labels(self.run.rows.candidates))
            rng = make_generator(self.run.config.seed, self.name)
            yield shuffle(self._select(self._gather_evidence(meter), quotas, rng), rng)

    def choice(self, state: Permutation | None) -> Permutation | None:
        return state

    def fallback(self, _state: Permutation | None, reason: StopReason) -> Permutation:
        raise NothingSelected(reason)

    def pack(self, state: Permutation | None) -> PackedState:
        return PackedState({"permutation": None if state is None else list(state)})

    def unpack(self, packed: PackedState) -> Permutation | None:
        found = packed.values["permutation"]
        return None if found is None else tuple(found)

    def _select(self, evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:
        """Call the selector; only k-center needs `rng`, for its first centre."""
        return k_center(evidence, quotas, rng) if self.name == "k_center" else SELECTORS[self.name](evidence, quotas)

    def _gather_evidence(self, meter: Meter) -> Evidence:
        run = self.run
        meter.enter(Phase.FILTER, 1, 1)
        payment = _Payment(meter.spend, self.price()[Phase.FILTER])
        rows = TuningRows(run.task, run.rows.candidates, run.rows.validation, run.config.seed)
        evidence = self.fine_tuner(rows, payment.pay_up_to)
        payment.pay_up_to(1, 1)
        return evidence


@dataclass
class _Payment:
    """Charges the meter for the rows read so far, as a share of the whole price."""

    spend: Callable[[Cost], None]
    whole: Cost
    paid: int = 0  #: tokens charged so far

    def pay_up_to(self, done: int, total: int) -> None:
        due = self.whole.tokens * done // total
        self.spend(Cost(0, due - self.paid))
        self.paid = due

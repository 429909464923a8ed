"""What LENS chooses by itself, and its strongest rival at equal cost: random-and-validation (section 4.1).

Both find demonstrations among the candidates, and rank permutations on the same rows.
"""

from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.method.judgement import EvaluationRows
from lens_engine.method.lens import Lens
from lens_engine.method.objective import make_objective, rank_key
from lens_engine.method.permutations import draw_permutations
from lens_engine.method.ranker import Finished, Ranker
from lens_engine.method.setup import Setup
from lens_engine.types import Permutation


def search_by_lens(setup: Setup, meter: Meter) -> Permutation:
    """The best permutation of the beam, even where another prompt is more often right.

    Raises:
        Stopped: from the meter.
    """
    lens = Lens(setup)
    state = lens.start()
    for found in lens.steps(state, meter):
        state = found
    return lens.findings(state).finalists[0]


def choose_random(setup: Setup, meter: Meter, number: int | None = None) -> Permutation:
    """The best of this many random permutations; None for as many as the cost of LENS pays for.

    Of permutations with equal scores the first is taken.

    Raises:
        Stopped: from the meter.
    """
    rows, config = EvaluationRows(setup.task, setup.lens_rows.validation), setup.config
    count, candidates = number or count_random(setup), setup.lens_rows.candidates
    drawn = draw_permutations(candidates, setup.task, setup.rows.quotas, config.seed, count)
    outcomes = Ranker(meter, candidates, rows, [make_objective(config, rows, config.use)]).judge(drawn)
    scores = [one.score for one in outcomes if isinstance(one, Finished)]  # all: nothing is halved
    return drawn[min(range(count), key=lambda one: rank_key((one,), scores[one]))]


def count_random(setup: Setup) -> int:
    """Number of random permutations that cost as much as LENS may, by pairs or by tokens, whichever gives more."""
    cost, one = sum(Lens(setup).price().values(), Cost()), setup.prices.judging(1, len(setup.lens_rows.validation))
    return max(-(-cost.pairs // one.pairs), -(-cost.tokens // one.tokens))

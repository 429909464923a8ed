from itertools import chain, repeat

import numpy as np
import pytest

from experiments.rivals.fine_tuning.evidence import Evidence
from experiments.rivals.method import SELECTORS
from lens_engine.classifier.bag_of_words import fit_bag_of_words
from lens_engine.classifier.ensemble import fit_frontier, order_members
from lens_engine.judging.judgement import Judgement
from lens_engine.judging.objective import HeadObjective
from lens_engine.liveness.beat import beat, beating, with_beats
from lens_engine.liveness.tokens import count_tokens
from lens_engine.methods.lens.diversity import Affinity, exchange
from lens_engine.testing import TableScorer

RNG = np.random.default_rng(0)
GOLD = np.arange(60) % 2
LOG_PROBS = np.log(RNG.dirichlet([1, 1], size=(3, 60))).astype(np.float32)
TEXTS = [f"text {row} {'sun' if row % 2 else 'rain'}" for row in range(60)]


class Halt(Exception):
    pass


def halt() -> None:
    raise Halt


def make_evidence() -> Evidence:
    probabilities = RNG.dirichlet([1, 1], size=60)
    kept = Evidence(GOLD, RNG.normal(size=(60, 4)), probabilities, RNG.random((2, 60)), RNG.random((3, 60)) < 0.5, "x")
    return Evidence(**{**vars(kept), "validation": kept})


WORK = {
    "tokenising": lambda: count_tokens(TableScorer(), TEXTS),
    "exchange": lambda: exchange(
        Affinity.from_features(RNG.random(60), RNG.random((60, 5)), 1.0), [0, 1], GOLD, np.arange(60)
    ),
    "ranking by a head": lambda: HeadObjective.of(GOLD, 2).scores([Judgement(LOG_PROBS[0], GOLD)], is_final=True),
    "fitting heads": lambda: fit_frontier(LOG_PROBS, GOLD),
    "ordering members": lambda: order_members(LOG_PROBS, GOLD, 2),
    "a bag of words": lambda: fit_bag_of_words(TEXTS, GOLD, 2),
    **{name: lambda name=name: SELECTORS[name](make_evidence(), (4, 4)) for name in ("herding", "glister", "craig")},
    **{name: lambda name=name: SELECTORS[name](make_evidence(), (4, 4)) for name in ("grad_match", "graph_cut", "cal")},
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_work_without_a_forward_can_be_stopped(work) -> None:
    with pytest.raises(Halt), beating(halt):
        work()


def test_beat_outside_of_a_run_does_nothing() -> None:
    with pytest.raises(Halt), beating(halt):
        beat()

    beat()


def test_few_of_many_beats_are_heard() -> None:
    heard = list[int]()

    with beating(lambda: heard.append(1)):
        for _ in with_beats(range(10_000)):
            pass

    assert 1 <= len(heard) < 100


def test_inner_context_replaces_the_outer_one() -> None:
    heard = list[str]()

    with beating(lambda: heard.append("outer")):
        with beating(lambda: heard.append("inner")):
            beat()
        beat()

    assert heard == ["inner", "outer"]


def test_batches_give_the_same_counts() -> None:
    segments = list(chain(["a b c"], repeat("word " * 9_000, 40), [""]))

    assert count_tokens(TableScorer(), segments) == TableScorer().count_tokens(segments)
    assert count_tokens(TableScorer(), []) == []

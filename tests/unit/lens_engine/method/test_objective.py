import numpy as np
import pytest
from scipy.special import softmax

from lens_engine.method.judgement import Judgement
from lens_engine.method.objective import (
    ProbabilitiesObjective,
    PromptObjective,
    RankingObjective,
    Score,
    find_label_biases,
    rank_key,
)

LABELS, ROWS = 3, 12
GOLD = np.arange(ROWS) % LABELS
BIASED = ProbabilitiesObjective.of(GOLD, LABELS)


def make_judgement(strength: float, seed: int = 0, bias: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Judgement:
    """A permutation that knows the gold labels this well, and is biased towards some labels."""
    log_probs = np.random.default_rng(seed).normal(-4.0, 1.0, size=(ROWS, LABELS))
    log_probs[np.arange(ROWS), GOLD] += strength
    return Judgement((log_probs + np.array(bias)).astype(np.float32), GOLD)


def rank(scores: list[Score]) -> list[int]:
    return sorted(range(len(scores)), key=lambda one: rank_key((one,), scores[one]))


def test_constant_bias_does_not_change_the_score_for_probabilities() -> None:
    plain, biased = make_judgement(1.0), make_judgement(1.0, bias=(8.0, -3.0, 0.5))

    before, after = BIASED.scores([plain, biased], is_final=True)

    assert after.figure == pytest.approx(before.figure, abs=1e-6)
    assert after.margin == pytest.approx(before.margin, abs=1e-5)


@pytest.mark.parametrize("strength", [0.5, 4.0, 30.0])
def test_label_biases_give_each_label_its_share_of_the_probability(strength: float) -> None:
    gold = np.repeat(np.arange(LABELS), (600, 250, 50))
    log_probs = np.random.default_rng(0).normal(-4.0, 1.0, size=(len(gold), LABELS)) + np.array((3.0, -2.0, 0.0))
    log_probs[np.arange(len(gold)), gold] += strength
    judgement = Judgement(log_probs.astype(np.float32), gold)

    probabilities = softmax(judgement.label_log_probs + find_label_biases(judgement), axis=1)

    np.testing.assert_allclose(probabilities.mean(axis=0), np.bincount(gold) / len(gold), atol=2e-3)


def test_one_row_does_not_decide_about_a_label_without_rows() -> None:
    """Every row knows its label by hundreds of nats, and one is a little less sure."""
    gold = np.arange(200) % 2
    log_probs = np.full((200, 3), -300.0)
    log_probs[np.arange(200), gold] = 0.0
    log_probs[7, 2] = -40.0

    biases = find_label_biases(Judgement(log_probs.astype(np.float32), gold))

    assert np.isfinite(biases).all()
    assert ((log_probs + biases).argmax(axis=1) == gold).all()


def test_label_biases_of_a_prompt_that_is_right_leave_it_right() -> None:
    """The mean log-probability of a label says how sure the other rows are, and not how often the label is said."""
    sure = make_judgement(9.0)
    sure.label_log_probs[GOLD != 0, 0] -= 400.0

    after = sure.label_log_probs + find_label_biases(sure)

    assert (after.argmax(axis=1) == GOLD).all()


def test_biased_permutation_ranks_first_for_probabilities_only() -> None:
    judgements = [make_judgement(0.8, seed=1), make_judgement(4.0, seed=2, bias=(20.0, 0.0, 0.0))]

    assert rank(PromptObjective().scores(judgements, is_final=True)) == [0, 1]
    assert rank(BIASED.scores(judgements, is_final=True)) == [1, 0]


@pytest.mark.parametrize("objective", [BIASED, PromptObjective()])
def test_equal_accuracy_ranks_by_smoothed_hits(objective: RankingObjective) -> None:
    judgements = [make_judgement(7.0), make_judgement(9.0)]

    assert [Score.of(one).figure for one in judgements] == [1.0, 1.0]
    assert rank(objective.scores(judgements, is_final=True)) == [1, 0]
    assert PromptObjective(is_smoothed=False).scores(judgements, is_final=True) == list(map(Score.of, judgements))


def test_score_on_all_rows_depends_on_its_own_judgement() -> None:
    own, others = make_judgement(1.0), [make_judgement(2.0, seed=3, bias=(9.0, 0.0, 0.0)), make_judgement(0.1, seed=4)]

    alone = BIASED.scores([own], is_final=True)

    assert BIASED.scores([own, *others], is_final=True)[:1] == alone
    assert BIASED.scores([*others, own], is_final=True)[2:] == alone


def test_shrinking_leaves_a_part_of_a_bias_that_others_lack() -> None:
    """With as many rows as the prior weighs, half of the difference of two means is left in each."""
    gold = np.arange(10) // 8
    plain, biased = (np.tile(np.float32([-1.0 + bias, -1.0]), (10, 1)) for bias in (0.0, 1.0))
    objective = ProbabilitiesObjective.of(gold, 2)

    scores = objective.scores([Judgement(one, gold) for one in (plain, biased)], is_final=False)

    # without the labels' shares the log-odds of the first label are -1/4 and 1/4: half of the difference is shared
    odds = objective.log_shares[0] - objective.log_shares[1] + np.array([-0.25, 0.25])
    assert [score.margin for score in scores] == pytest.approx(0.6 * odds, abs=1e-6)
    assert [score.figure for score in scores] == pytest.approx((1 + 0.6 * np.tanh(odds)) / 4 + 0.4, abs=1e-6)


def test_labels_count_by_their_share_of_the_rows() -> None:
    gold = np.array([0] * 9 + [1])
    knows_nothing = Judgement(np.full((10, 2), -2.0, dtype=np.float32), gold)

    score = ProbabilitiesObjective.of(gold, 2).scores([knows_nothing], is_final=True)[0]

    assert score.figure > 0.8  # the more frequent label


PROBABILITIES = np.array([[0.6, 0.2, 0.1], [0.1, 0.3, 0.1], [0.5, 0.25, 0.2], [0.4, 0.1, 0.05]], dtype=np.float32)
JUDGEMENT = Judgement(np.log(PROBABILITIES), np.array([0, 1, 1, 0]))


def test_score_counts_hits_and_averages_margins() -> None:
    score = Score.of(JUDGEMENT)

    ratios = [0.6 / 0.2, 0.3 / 0.1, 0.25 / 0.5, 0.4 / 0.1]
    assert score.figure == 0.75
    assert score.margin == pytest.approx(np.log(ratios).mean(), abs=1e-6)


def test_ranking_is_by_accuracy_then_margin_then_rows() -> None:
    ranked = [
        ((3, 1), Score(0.9, 0.1)),
        ((9, 9), Score(0.8, 0.7)),
        ((1, 2), Score(0.8, 0.5)),
        ((2, 1), Score(0.8, 0.5)),
        ((0, 0), Score(0.7, 5.0)),
    ]

    shuffled = [ranked[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(shuffled, key=lambda pair: rank_key(*pair)) == ranked


def test_macro_f1_ranks_if_it_is_the_objective() -> None:
    gold = np.array([1] * 2 + [0] * 6)
    finds = Judgement(np.log(np.array([[0.4, 0.6]] * 5 + [[0.6, 0.4]] * 3, np.float32)), gold)  # 5 of 8 right
    plain = Judgement(np.log(np.array([[0.6, 0.4]] * 8, np.float32)), gold)  # 6 of 8 right
    first, second = (Score.of(one) for one in (finds, plain))
    assert rank_key((0,), second) < rank_key((0,), first)
    first, second = (Score.of(one, objective="macro_f1") for one in (finds, plain))
    assert rank_key((0,), first) < rank_key((0,), second)
    assert first.figure == pytest.approx((2 / 3 + 4 / 7) / 2)

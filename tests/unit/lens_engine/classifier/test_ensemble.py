import numpy as np
import pytest

from lens_engine.classifier.ensemble import (
    Frontier,
    SizedHead,
    first_within_errors,
    fit_frontier,
    order_members,
)
from lens_engine.classifier.fitting import fit_head
from lens_engine.classifier.heads import ArgmaxHead, HeadKind, PriorHead

LABELS, ROWS = 4, 80
GOLD = np.arange(ROWS) % LABELS


def tell_apart(labels: set[int], seed: int, strength: float = 6.0) -> np.ndarray:
    """`[rows, labels]`: a prompt that knows a row's label only if it is one of these."""
    scores = np.random.default_rng(seed).normal(-4.0, 0.3, size=(ROWS, LABELS))
    known = np.isin(GOLD, list(labels))
    scores[known, GOLD[known]] += strength
    return scores


def add_noise(log_probs: np.ndarray, seed: int, size: float = 0.3) -> np.ndarray:
    return log_probs + np.random.default_rng(seed).normal(0.0, size, size=log_probs.shape)


FIRST = tell_apart({0, 1}, seed=1, strength=8.0)
COPY = add_noise(FIRST, seed=2)
OTHER = tell_apart({2, 3}, seed=3)


@pytest.mark.parametrize("head", ["auto", "linear", "prior"])
def test_complement_is_taken_before_a_copy(head: HeadKind) -> None:
    order = order_members(np.array([FIRST, COPY, OTHER]), GOLD, 3, head)

    assert set(order[:2]) & {0, 1}
    assert 2 in order[:2]
    assert sorted(order) == [0, 1, 2]


def test_first_member_is_the_best_prompt_alone() -> None:
    good = tell_apart({0, 1, 2, 3}, seed=4)

    assert order_members(np.array([FIRST, OTHER, good]), GOLD, 1) == (2,)


def test_order_does_not_depend_on_places() -> None:
    prompts, places = np.array([COPY, OTHER, FIRST]), [2, 0, 1]

    moved = order_members(prompts[places], GOLD, 3)

    assert tuple(places[one] for one in moved) == order_members(prompts, GOLD, 3)


@pytest.mark.parametrize("head", ["auto", "prior", "argmax"])
def test_tie_goes_to_the_earlier_prompt(head: HeadKind) -> None:
    assert order_members(np.array([FIRST, FIRST, FIRST]), GOLD, 3, head) == (0, 1, 2)


def test_few_rows_choose_members_under_prior() -> None:
    """31 rows are too few for the weights of four labels, so `linear` takes the members of `prior`."""
    prompts = np.array([FIRST, COPY, OTHER])[:, :31]

    found = {head: order_members(prompts, GOLD[:31], 3, head) for head in ("auto", "linear", "prior")}

    assert found["auto"] == found["linear"] == found["prior"]


def test_bias_hides_a_good_prompt_from_argmax_only() -> None:
    biased = tell_apart({0, 1, 2, 3}, seed=6) + np.array([20.0, 0.0, 0.0, 0.0])
    prompts = np.array([FIRST, biased])

    assert order_members(prompts, GOLD, 1, "argmax") == (0,)
    assert order_members(prompts, GOLD, 1, "prior") == (1,)


def make_sized(size: int, losses: list[float]) -> SizedHead:
    return SizedHead(size, ArgmaxHead(), np.array(losses))


def test_simplest_within_one_error_of_the_best_is_taken() -> None:
    far = make_sized(1, [1.4, 1.4, 1.4, 1.4])
    close = make_sized(2, [0.9, 1.5, 0.9, 1.2])
    best = make_sized(3, [1.0, 1.0, 1.0, 1.2])

    # `close` is 0.075 worse on average, with a standard error of 0.146; `far` is 0.35 worse, with one of 0.05
    assert first_within_errors([far, close, best], 1.0) is close
    assert first_within_errors([best, close, far], 1.0) is best


def test_constant_difference_is_never_within_an_error() -> None:
    best = make_sized(2, [0.5, 1.0, 1.5])

    assert first_within_errors([make_sized(1, [0.75, 1.25, 1.75]), best], 1.0) is best


def test_copies_are_not_worth_a_larger_ensemble() -> None:
    good = tell_apart({0, 1, 2, 3}, seed=4, strength=8.0)

    frontier = fit_frontier(np.array([good, add_noise(good, 8, 1e-3), add_noise(good, 9, 1e-3)]), GOLD)

    assert frontier.proposed.size == 1


def test_complementary_prompts_are_asked_together() -> None:
    frontier = fit_frontier(np.array([FIRST, OTHER]), GOLD)

    assert frontier.proposed.size == 2
    assert frontier.proposed is frontier.proposed_heads[1]


def test_frontier_holds_every_head_at_every_size() -> None:
    frontier = fit_frontier(np.array([FIRST, OTHER, COPY]), GOLD)

    assert [[one.head.kind for one in of_size] for of_size in frontier.fitted] == [["argmax", "prior", "linear"]] * 3
    assert [one.size for one in frontier.proposed_heads] == [1, 2, 3]
    for size, proposed in enumerate(frontier.proposed_heads, start=1):
        assert proposed in frontier.fitted[size - 1]


def test_words_are_among_the_heads_if_the_texts_are_known() -> None:
    texts = [f"word{label}" for label in GOLD.tolist()]
    frontier = fit_frontier(np.array([FIRST, COPY]), GOLD, texts=texts)

    assert [[one.head.kind for one in of_size] for of_size in frontier.fitted] == [
        ["argmax", "prior", "linear", "words"]
    ] * 2
    assert frontier.proposed.head.kind == "words"


def test_words_that_tell_nothing_are_left_out() -> None:
    texts = [f"row {row * 7919 % len(GOLD)}" for row in range(len(GOLD))]
    frontier = fit_frontier(np.array([FIRST, OTHER]), GOLD, texts=texts)

    assert frontier.proposed.head.kind != "words"


def test_larger_ensemble_keeps_the_heads_of_the_smaller() -> None:
    prompts = np.array([FIRST, OTHER, COPY])

    assert [one.head for one in fit_frontier(prompts[:2], GOLD).proposed_heads] == [
        one.head for one in fit_frontier(prompts, GOLD).proposed_heads[:2]
    ]


def test_head_of_the_frontier_is_fitted_on_every_row() -> None:
    frontier = fit_frontier(np.array([FIRST, OTHER]), GOLD, ["prior"])

    fitted = fit_head("prior", np.array([FIRST]), GOLD)
    assert frontier.proposed_heads[0].head == fitted.head
    assert frontier.proposed_heads[0].log_loss == pytest.approx(fitted.losses.mean())


@pytest.mark.parametrize(("bias", "kind"), [(9.0, "prior"), (0.0, "argmax")])
def test_only_a_bias_makes_the_frontier_propose_prior(bias: float, kind: str) -> None:
    prompt = tell_apart({0, 1, 2, 3}, seed=6) + np.array([bias, 0.0, 0.0, 0.0])

    frontier = fit_frontier(prompt[None], GOLD, ["argmax", "prior"])

    assert frontier.proposed.head.kind == kind
    assert [one.head.kind for one in frontier.fitted[0]] == ["argmax", "prior"]


@pytest.mark.parametrize("kinds", [("linear",), ("prior", "linear")])
def test_too_few_rows_for_linear_fall_back_to_prior(kinds: tuple[HeadKind, ...]) -> None:
    frontier = fit_frontier(FIRST[None, :7], GOLD[:7], kinds)

    assert isinstance(frontier.proposed.head, PriorHead)
    assert [one.head.kind for one in frontier.fitted[0]] == ["prior"]


@pytest.mark.parametrize("kinds", [("argmax", "prior", "linear"), ("linear",)])
def test_without_fit_rows_the_first_prompt_is_asked_as_it_is(kinds: tuple[HeadKind, ...]) -> None:
    frontier: Frontier = fit_frontier(np.empty((3, 0, LABELS)), np.empty(0, dtype=np.intp), kinds)

    assert (frontier.proposed.size, frontier.proposed.head) == (1, ArgmaxHead())
    assert frontier.proposed.log_loss is None
    assert frontier.proposed_heads == (frontier.proposed,)

import pytest

from lens_engine.randomness import make_generator


def test_same_seed_stage_and_step_give_the_same_numbers() -> None:
    assert make_generator(3, "search", 2).random(5).tolist() == make_generator(3, "search", 2).random(5).tolist()


@pytest.mark.parametrize(
    ("seed", "stage", "steps"), [(4, "search", (2,)), (3, "order", (2,)), (3, "search", (3,)), (3, "search", ())]
)
def test_any_other_seed_stage_or_step_gives_other_numbers(seed: int, stage: str, steps: tuple[int, ...]) -> None:
    assert make_generator(seed, stage, *steps).random() != make_generator(3, "search", 2).random()


def test_largest_seed_is_accepted() -> None:
    assert 0.0 <= make_generator(2**63 - 1, "splits").random() < 1.0

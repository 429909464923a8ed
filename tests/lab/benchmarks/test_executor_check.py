"""The judgement of the check in CI; its timing is not a test."""

from lab.benchmarks.check import find_slower


def test_order_of_speed_is_kept() -> None:
    assert find_slower({"packed": 1.0, "cached": 2.0, "plain": 3.0}) is None


def test_first_pair_out_of_order_is_named() -> None:
    found = find_slower({"packed": 1.0, "cached": 4.0, "plain": 3.0})
    assert found == "cached took 4.000 s, more than plain with 3.000 s"

import pytest

from benchmarks.measuring.power_law import fit_power_law

SIZES = (500, 1000, 2000, 4000)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.7, 2.0])
def test_exponent_and_factor_of_an_exact_law_are_found(exponent: float) -> None:
    law = fit_power_law(SIZES, [3.0 * size**exponent for size in SIZES])

    assert law.exponent == pytest.approx(exponent, abs=1e-9)
    assert law.factor == pytest.approx(3.0)
    assert law(8000) == pytest.approx(3.0 * 8000**exponent)


def test_a_fixed_part_beside_linear_growth_lowers_the_exponent() -> None:
    assert 0.5 < fit_power_law(SIZES, [1000 + size for size in SIZES]).exponent < 1.0


@pytest.mark.parametrize(
    ("sizes", "values"),
    [((10,), (1.0,)), ((10, 10), (1.0, 2.0)), ((10, 20), (1.0, 0.0)), ((0, 20), (1.0, 1.0))],
)
def test_what_has_no_exponent_is_refused(sizes: tuple[float, ...], values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="two different sizes"):
        fit_power_law(sizes, values)

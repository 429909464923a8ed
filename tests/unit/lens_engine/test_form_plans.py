"""Which forms of a prompt a pool can fill, and how the halving among them ends."""

from hypothesis import given
from hypothesis import strategies as st

from lens_engine.plan import list_forms, plan_form_rungs, plan_rungs


@given(num_forms=st.integers(1, 5), num_rows=st.integers(4, 100))
def test_last_rung_judges_one_form_on_the_last_rows(num_forms: int, num_rows: int) -> None:
    rungs = plan_form_rungs(num_forms, num_rows)

    assert (rungs[-1].permutations, rungs[-1].end) == (1, num_rows)
    assert rungs[0].permutations == num_forms
    if (num_forms, num_rows) != (5, 4):
        assert rungs == plan_rungs(num_forms, num_rows, 3, least=1)


def test_pool_fills_the_forms_with_as_many_demonstrations() -> None:
    def fill(num_pool_rows: int) -> list[str]:
        return [form.name for form in list_forms(("nearest", "fixed+nearest"), num_pool_rows, 8)]

    assert fill(11) == ["nearest 4", "nearest 8"]  # `nearest` has no fixed demonstrations
    assert fill(12) == ["nearest 4", "nearest 8", "fixed+nearest 4"]
    assert fill(16) == ["nearest 4", "nearest 8", "nearest 16", "fixed+nearest 4", "fixed+nearest 8"]
    assert fill(3) == []

from collections.abc import Callable

import pytest

from lab.experiments.laboratory.cells import Bench, Demonstration
from lab.rivals.names import CoresetConfig
from lens_engine.config import SelectionConfig

Make = Callable[..., SelectionConfig]


def test_seed_of_a_cell_is_the_seed_of_its_bench(bench: Bench, make_tiny: Make) -> None:
    assert bench.selection(make_tiny(seed=7)).config.seed == bench.seed
    assert bench.evaluation(make_tiny(seed=7), ()).config.seed == bench.seed


@pytest.mark.parametrize(
    ("change", "options", "dataset"),
    [
        ({"model": "other"}, {}, "rows"),
        ({"dataset": "other"}, {}, "rows"),
        ({"template": "{text} {label}"}, {}, "rows"),
        ({"seed": 4}, {}, "rows"),
        ({"dtype": "float32"}, {}, "rows"),
        ({}, {"search": {"beam_width": 3}}, "rows"),
        ({}, {}, "other rows"),
    ],
    ids=["model", "dataset", "template", "seed", "dtype", "option", "rows"],
)
def test_whatever_decides_the_figure_changes_the_key(
    bench: Bench, make_tiny: Make, change: dict[str, object], options: dict[str, object], dataset: str
) -> None:
    changed = bench.model_copy(update=change)
    assert changed.selection(make_tiny(**options)).key(dataset) != bench.selection(make_tiny()).key("rows")


def test_kinds_of_cells_do_not_share_a_key(bench: Bench, make_tiny: Make) -> None:
    one = Demonstration(text="a", label="positive")
    cells = [
        bench.selection(make_tiny()),
        bench.evaluation(make_tiny(), ()),
        bench.evaluation(make_tiny(), (one,)),
        bench.evaluation(make_tiny(), (one, one)),
    ]
    assert len({cell.key("rows") for cell in cells}) == len(cells)


OWN_NUMBER = {"random_search": {"permutations": 3}}


@pytest.mark.parametrize(
    ("options", "changed", "is_the_same"),
    [
        ({"method": "random"}, {"search": {"beam_width": 3}}, True),
        ({"method": "random"}, {"random_search": {"permutations": 3}}, True),
        ({"method": "random"}, {"filtering": {"candidates": 20}}, False),
        ({"method": "random"}, {"comparisons": "all"}, False),
        ({"method": "random"}, {"method": "zero_shot"}, False),
        ({"method": "random_and_validation"}, {"search": {"iterations": 7}}, False),
        ({"method": "random_and_validation"}, {"filtering": {"max_score_size": 2}}, False),
        ({"method": "random_and_validation"}, {"random_search": {"permutations": 3}}, False),
        ({"method": "random_and_validation", **OWN_NUMBER}, {"search": {"iterations": 7}}, True),
        ({"method": "lens"}, {"search": {"diversity_weight": 0.0}}, False),
        ({"method": "lens"}, {"random_search": {"permutations": 3}}, True),
        ({"method": "lens"}, {"labels": {"join_spellings": False}}, False),
        ({"method": "random"}, {"labels": {"rare": "drop"}}, False),
    ],
)
def test_options_without_a_part_in_a_figure_do_not_change_its_key(
    bench: Bench, make_tiny: Make, options: dict[str, object], changed: dict[str, object], is_the_same: bool
) -> None:
    keys = {bench.selection(make_tiny(**given)).key("rows") for given in (options, options | changed)}
    assert (len(keys) == 1) == is_the_same


def test_coreset_methods_have_a_key_each_which_the_search_does_not_change(bench: Bench, make_tiny: Make) -> None:
    herding, craig, wide = (
        bench.selection(CoresetConfig.of(make_tiny(**options), method)).key("rows")
        for method, options in (("herding", {}), ("craig", {}), ("herding", {"search": {"beam_width": 3}}))
    )
    assert herding == wide != craig


def test_prompt_is_judged_alike_whatever_the_search_is(bench: Bench, make_tiny: Make) -> None:
    first, second, third = (
        bench.evaluation(make_tiny(**options), ()).key("rows")
        for options in (
            {},
            {"search": {"beam_width": 3}, "classifier": {"fit_rows": 9}, "method": "random"},
            {"splits": {"validation": 9}},
        )
    )
    assert first == second != third

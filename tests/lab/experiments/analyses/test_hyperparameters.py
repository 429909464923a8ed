from collections.abc import Callable
from typing import Any

import pytest

from experiments.analyses.hyperparameters import (
    BEAM,
    KEEP,
    RHO,
    SYMBOLS,
    WEIGHT,
    Hyperparameters,
    own_value,
    vary,
)
from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig

Make = Callable[..., SelectionConfig]


@pytest.fixture
def config(make_tiny: Make) -> SelectionConfig:
    """24 candidates, 6 kept, in two rounds: rho is 2."""
    return make_tiny(filtering={"keep": 6, "rounds": 2})


def flatten(config: SelectionConfig) -> dict[str, Any]:
    groups = {name: value for name, value in config.model_dump().items() if isinstance(value, dict)}
    return {f"{group}.{name}": value for group, options in groups.items() for name, value in options.items()}


@pytest.mark.parametrize(("option", "value"), [(RHO, 3.0), (KEEP, 4), (WEIGHT, 0.0), (BEAM, 5)])
def test_one_option_is_changed_and_no_other(config: SelectionConfig, option: str, value: float) -> None:
    before, after = flatten(config), flatten(vary(config, option, value))

    assert after[option] == value
    assert {name for name in before if before[name] != after[name]} == {option}


def test_value_out_of_range_is_refused(config: SelectionConfig) -> None:
    with pytest.raises(InvalidConfig, match="beam_width"):
        vary(config, BEAM, 0)


def test_value_that_does_not_go_with_the_others_is_refused(make_tiny: Make) -> None:
    with pytest.raises(InvalidConfig, match="first_permutations is 3"):
        vary(make_tiny(search={"first_permutations": 3}), BEAM, 4)


def test_own_values_are_those_in_force(config: SelectionConfig, make_tiny: Make) -> None:
    assert [own_value(config, option) for option in SYMBOLS] == [2.0, 6.0, 1.0, 2.0]
    assert own_value(make_tiny(filtering={"rho": 3.0}), RHO) == 3.0
    assert own_value(make_tiny(filtering={"keep": 500}), RHO) == 1.1  # nothing is left out; the least rho there is


def test_rho_of_all_candidates_is_not_known_before(make_tiny: Make) -> None:
    with pytest.raises(InvalidConfig, match=r"filtering\.candidates"):
        own_value(make_tiny(filtering={"candidates": None}), RHO)


def test_every_value_is_a_selection_of_its_own(bench: Bench, config: SelectionConfig, laboratory: Laboratory) -> None:
    cells = tuple(bench.model_copy(update={"seed": seed}).selection(config) for seed in (1, 2))
    values: dict[str, tuple[float, ...]] = {RHO: (4.0,), KEEP: (8, 4), WEIGHT: (0.0,), BEAM: (1, 2)}

    finding = Hyperparameters(cells, values).run(laboratory)

    rows = [dict(zip(finding.tables[0].columns, row, strict=True)) for row in finding.tables[0].rows]
    assert [(str(row["option"]).split(" ")[0], row["value"]) for row in rows] == [
        ("rho", "2 *"),
        ("rho", "4"),
        ("m", "4"),
        ("m", "6 *"),
        ("m", "8"),
        ("lambda", "0"),
        ("lambda", "1 *"),
        ("B", "1"),
        ("B", "2 *"),
    ]
    own = laboratory.select(cells[0]), laboratory.select(cells[1])
    accuracies = [result.test.accuracy for result in own if result.test]
    starred = [row for row in rows if str(row["value"]).endswith("*")]
    assert [row["mean"] for row in starred] == [pytest.approx(sum(accuracies) / 2)] * 4
    assert all(row["seeds"] == 2 for row in rows)
    evaluated = [row["permutations evaluated"] for row in rows if str(row["option"]).startswith("B")]
    assert evaluated == [1 + 2, 2 + 4]  # the first beam, and two children of each in it


def test_own_value_among_the_values_is_not_selected_again(
    bench: Bench, config: SelectionConfig, laboratory: Laboratory
) -> None:
    finding = Hyperparameters((bench.selection(config),), {BEAM: (2,)}).run(laboratory)

    assert [row[2] for row in finding.tables[0].rows] == ["2 *"]


def test_each_dataset_has_a_plot(bench: Bench, config: SelectionConfig, laboratory: Laboratory) -> None:
    cells = tuple(bench.model_copy(update={"dataset": name}).selection(config) for name in ("reviews", "news"))

    finding = Hyperparameters(cells, {BEAM: (1,)}).run(laboratory)

    assert [plot.name for plot in finding.plots] == ["reviews", "news"]

from collections.abc import Callable

import pytest

from experiments.analyses.captions import describe_cells, describe_rows
from experiments.findings.spreads import SPREAD_COLUMNS, show_rows, spread_values
from experiments.laboratory.cells import Bench, CalibratedAccuracy
from lens_engine.classifier.quality import interval
from lens_engine.config import SelectionConfig

Make = Callable[..., SelectionConfig]


def figure(hits: int, n: int, calibrated: float = 0.5) -> CalibratedAccuracy:
    return CalibratedAccuracy(accuracy=hits / n, n=n, ci95=interval(hits, n), calibrated_accuracy=calibrated)


def test_cells_are_described_by_model_datasets_templates_and_seeds(bench: Bench, make_tiny: Make) -> None:
    benches = [
        bench.model_copy(update={"model": "models/gpt2", "dataset": name, "seed": seed})
        for seed in (0, 1, 2)
        for name in ("sst-2", "trec")
    ]

    text = describe_cells([one.selection(make_tiny()) for one in benches])

    pattern = "`{text} It was {label}.`"
    assert text == f"gpt2 on sst-2 ({pattern}) and trec ({pattern}), seeds 0, 1 and 2"


def test_uncertainty_is_that_of_the_fewest_rows() -> None:
    accuracies = [figure(100, 200), figure(190, 200), figure(500, 1000)]

    assert describe_rows(accuracies) == (
        "An accuracy on 200 test rows is uncertain by up to ±0.07 (Wilson's 95 % interval)."
    )


def test_spread_of_several_prompts() -> None:
    figures = [figure(10, 20, 0.6), figure(12, 20, 0.8), figure(14, 20, 0.7)]
    values = dict(zip(SPREAD_COLUMNS, spread_values(figures), strict=True))

    assert (values["mean"], values["least"], values["most"]) == (pytest.approx(0.6), 0.5, 0.7)
    assert values["sd"] == pytest.approx(0.1)
    assert values["calibrated mean"] == pytest.approx(0.7)
    assert (values["prompts"], values["test rows"]) == (3, 20)


def test_single_prompt_has_no_spread() -> None:
    assert spread_values([figure(10, 20)])[:2] == (0.5, None)


def test_unequal_numbers_of_rows_are_a_range() -> None:
    assert show_rows([figure(10, 20), figure(10, 30)]) == "20–30"

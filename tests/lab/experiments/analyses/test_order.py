from collections.abc import Callable

import pytest

from experiments.analyses.example_sets import RANDOM, SUPPORT, draw_random_sets, reorder, support_set
from experiments.analyses.order import Order
from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig
from tests.lab.experiments.analyses.analysis_tables import models_that_are, right_by_helpful, right_by_last

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]


def test_accuracy_follows_the_order_where_the_order_matters(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    laboratory, cell = make_laboratory(models_that_are(right_by_last)), bench.selection(make_tiny())
    finding = Order((cell,), orders=6).run(laboratory)

    (drawn,) = draw_random_sets(laboratory, cell, 1)
    sets = {SUPPORT: support_set(laboratory, cell, laboratory.select(cell)), RANDOM: drawn}
    rows = [dict(zip(finding.tables[1].columns, row, strict=True)) for row in finding.tables[1].rows]
    assert [row["examples"] for row in rows] == [SUPPORT, RANDOM]
    for row in rows:
        examples = sets[str(row["examples"])]
        orders = reorder(examples, bench.seed, 6)
        assert row["own order"] == float(examples[-1].label == "positive")
        assert row["mean"] == pytest.approx(sum(order[-1].label == "positive" for order in orders) / 6)
        assert (row["least"], row["most"], row["prompts"], row["test rows"]) == (0.0, 1.0, 6, 20)
    assert rows[0]["own order"] == 1.0  # the search looked for it


def test_orders_of_a_set_are_alike_where_the_order_does_not_matter(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    laboratory = make_laboratory(models_that_are(right_by_helpful))

    summary = Order((bench.selection(make_tiny()),), orders=4).run(laboratory).tables[0]

    support, random = (dict(zip(summary.columns, row, strict=True)) for row in summary.rows)
    assert support["mean sd over orders"] == random["mean sd over orders"] == 0.0
    assert support["mean accuracy"] == support["worst order"]
    assert float(str(support["mean accuracy"])) > float(str(random["mean accuracy"]))


def test_each_selection_brings_a_set_of_either_kind(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    benches = [
        bench.model_copy(update={"seed": seed, "dataset": name}) for name in ("reviews", "news") for seed in (1, 2)
    ]
    finding = Order(tuple(one.selection(make_tiny()) for one in benches), orders=3).run(laboratory)

    assert [row[:3] for row in finding.tables[1].rows] == [
        (name, kind, seed) for name in ("reviews", "news") for seed in (1, 2) for kind in (SUPPORT, RANDOM)
    ]
    assert [row[-3:] for row in finding.tables[0].rows] == [(4, 12, 20), (4, 12, 20)]
    assert "reviews" in finding.notes[0]
    assert "seeds 1 and 2" in finding.notes[0]

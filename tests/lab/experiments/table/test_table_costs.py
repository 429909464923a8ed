from collections.abc import Callable
from dataclasses import replace

import pytest

from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from experiments.scales import PAPER
from experiments.table.costs import SIZES, placeholder_dataset, price_cells
from experiments.table.entries import pick_entries
from experiments.table.plan import TablePlan
from lens_engine.config import CORESET_METHODS, SelectionConfig
from lens_engine.task.paper_tasks import PAPER_TASKS
from tests.lab.experiments.experiment_doubles import make_dataset

Make = Callable[..., SelectionConfig]


def test_every_dataset_of_the_paper_has_a_size() -> None:
    assert SIZES.keys() == PAPER_TASKS.keys()


def test_placeholders_are_as_many_rows_as_the_dataset_has() -> None:
    found = placeholder_dataset("trec")
    assert found.test is not None
    assert (len(found.train), len(found.test)) == (5_452, 500)
    assert len({example.text for example in (*found.train, *found.test)}) == 5_952


@pytest.mark.parametrize("method", ["lens", "zero_shot", "random_and_validation"])
def test_pairs_of_an_estimate_are_what_is_computed_at_most(
    bench: Bench, make_tiny: Make, laboratory: Laboratory, method: str
) -> None:
    cell = bench.selection(make_tiny(method=method))
    (line,) = price_cells({cell: method}, laboratory.find_dataset)
    spent = laboratory.select(cell).cost.pairs
    assert spent <= line.cost.pairs <= 1.5 * spent


def test_what_cells_of_a_bench_share_counts_once(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    first, second = (bench.selection(make_tiny(method=method)) for method in CORESET_METHODS[:2])
    elsewhere = bench.model_copy(update={"seed": 4}).selection(make_tiny(method=CORESET_METHODS[0]))
    lines = price_cells({first: "first", second: "second", elsewhere: "elsewhere"}, laboratory.find_dataset)
    costs = {line.name: line.cost.tokens for line in lines}
    assert costs["second"] < costs["first"] == costs["elsewhere"]


def test_cells_of_one_name_are_one_line(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    cells = {bench.model_copy(update={"seed": seed}).selection(make_tiny()): "LENS" for seed in range(3)}
    one, *_ = price_cells(dict([next(iter(cells.items()))]), laboratory.find_dataset)
    (line,) = price_cells(cells, laboratory.find_dataset)
    assert (line.cells, line.cost.pairs, line.cost.tokens) == (3, 3 * one.cost.pairs, 3 * one.cost.tokens)


def test_longer_texts_cost_more(bench: Bench, make_tiny: Make) -> None:
    short = make_dataset()
    long = replace(short, train=tuple(replace(row, text=f"{row.text} and more of it") for row in short.train))
    cell = bench.selection(make_tiny())
    costs = [price_cells({cell: "LENS"}, lambda _, dataset=dataset: dataset)[0].cost for dataset in (short, long)]  # type: ignore[misc]
    assert costs[0].pairs == costs[1].pairs
    assert costs[0].tokens < costs[1].tokens


def test_size_of_the_paper_can_be_priced_without_its_data() -> None:
    scale = PAPER.model_copy(update={"datasets": ("sst-2", "dbpedia"), "seeds": (0, 1)})
    datasets = {name: placeholder_dataset(name) for name in scale.datasets}
    plan = TablePlan(scale, pick_entries(scale, ("zero_shot", "lens"), {}), datasets.__getitem__)
    zero_shot, lens = price_cells(plan.cells(), datasets.__getitem__)
    assert zero_shot.cells == lens.cells == 2 * 4 * 2
    rounds = 2 * 4 * 14 * 6_500  # seeds, templates, l, and about as many candidates of SST-2 in each round
    assert lens.cost.pairs > 3 * rounds

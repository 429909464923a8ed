import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lab.experiments.findings.finding import Finding
from lab.experiments.findings.writing import render_page
from lab.experiments.laboratory.laboratory import Laboratory
from lab.experiments.scales import TINY, Scale
from lab.experiments.table.entries import LENS, NUM_RANDOM, Entry, make_entries, pick_entries
from lab.experiments.table.example_sets import draw_random_sets, evaluate_sets
from lab.experiments.table.plan import TablePlan
from lens_engine.classifier.quality import Quality
from lens_engine.config import METHOD_NAMES
from lens_engine.errors import InvalidConfig
from lens_engine.result import SelectionResult
from tests.lab.experiments.experiment_doubles import FixedDatasets

MakeLaboratory = Callable[..., Laboratory]
MakePlan = Callable[..., TablePlan]
FEW = ("zero_shot", "random", "herding", LENS)


@pytest.fixture
def make_plan(datasets: FixedDatasets) -> MakePlan:
    def make(keys: tuple[str, ...] = FEW, **changes: Any) -> TablePlan:
        usual = {"model": "table", "datasets": ("reviews", "news"), "seeds": (0, 1)}
        scale: Scale = TINY.model_copy(update=usual | changes)
        return TablePlan(scale, pick_entries(scale, keys), datasets.find)

    return make


def values(finding: Finding) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    """(method, dataset, calibrated) -> the rest of the row, from the table for programs."""
    (table,) = (table for table in finding.tables if table.in_csv)
    return {(str(row[0]), str(row[1]), str(row[2])): row[3:] for row in table.rows}


def own_test(result: SelectionResult) -> Quality:
    """The quality of the prompt of the method itself, even where another prompt is the answer."""
    test = result.answer.contenders[0].test
    assert test is not None
    return test


def test_every_method_has_an_entry() -> None:
    entries = make_entries(TINY)
    methods = {entry.options.get("method", "lens") for entry in entries.values()} | {"random"}
    assert methods == set(METHOD_NAMES)
    assert len({entry.name for entry in entries.values()}) == len(entries)


def test_figures_are_those_of_the_cells(laboratory: Laboratory, make_plan: MakePlan) -> None:
    plan = make_plan()
    found = values(plan.run(laboratory))
    zero_shot, random, _, lens = plan.entries
    for dataset in plan.scale.datasets:
        benches = [bench for bench in plan.benches if bench.dataset == dataset]
        results = {
            entry.name: [laboratory.select(plan.cell(entry, bench)) for bench in benches] for entry in plan.entries
        }
        owns = [own_test(result) for result in results[lens.name]]
        assert found[lens.name, dataset, "no"][0] == pytest.approx(sum(own.accuracy for own in owns) / 2)
        cells = [plan.cell(random, bench) for bench in benches]
        drawn = [evaluate_sets(laboratory, cell, draw_random_sets(laboratory, cell, NUM_RANDOM), "") for cell in cells]
        calibrated = np.mean([[one.calibrated_accuracy for one in prompts] for prompts in drawn])
        assert found[random.name, dataset, "yes"][0] == pytest.approx(calibrated)
        assert results[zero_shot.name] == results[random.name]


def test_templates_are_averaged_before_the_seeds(laboratory: Laboratory, make_plan: MakePlan) -> None:
    plan = make_plan((LENS,), datasets=("reviews",), templates=(0, 1))
    mean, low, high, seeds, templates = values(plan.run(laboratory))["LENS", "reviews", "no"]
    assert (seeds, templates) == (2, 2)
    assert low <= mean <= high
    (lens,) = plan.entries
    owns = [own_test(laboratory.select(plan.cell(lens, bench))) for bench in plan.benches]
    assert mean == pytest.approx(sum(own.accuracy for own in owns) / 4)


def test_page_can_be_read_alone(laboratory: Laboratory, make_plan: MakePlan) -> None:
    page = render_page(make_plan().run(laboratory))
    for part in ("table", "reviews", "news", "seeds 0, 1", "20 test rows", "95 %", "float32 on cpu", TINY.note):
        assert part in page, part
    (header,) = {line for line in page.splitlines() if line.startswith("| method")}
    assert header == "| method | reviews | news | mean | LENS is ahead by |"
    assert len(re.findall(r"^\| LENS \|", page, re.MULTILINE)) == 2


def test_single_seed_has_no_interval(laboratory: Laboratory, make_plan: MakePlan) -> None:
    finding = make_plan(seeds=(0,), datasets=("reviews",)).run(laboratory)
    assert {row[1:3] for row in values(finding).values()} == {(None, None)}
    assert "| method | reviews | LENS is ahead by |" in render_page(finding)


def test_table_without_lens_compares_with_nothing(laboratory: Laboratory, make_plan: MakePlan) -> None:
    assert "ahead" not in render_page(make_plan(("zero_shot", "herding")).run(laboratory))


def test_weight_of_a_sum_of_similarities_grows_with_the_demonstrations(datasets: FixedDatasets) -> None:
    settings = datasets.find("reviews").settings
    entry = Entry(name="x", options={"search": {"diversity_weight": 2.0}}, sums_similarity=True)
    assert entry.config(TINY, settings).search.diversity_weight == 2.0 * (settings.num_demonstrations - 1)


def test_unknown_row_is_refused(make_plan: MakePlan) -> None:
    with pytest.raises(InvalidConfig, match="'lense' is not one of zero_shot, ") as refused:
        make_plan(("lense",))
    assert refused.value.field == "methods"

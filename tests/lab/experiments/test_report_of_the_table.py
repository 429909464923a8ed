import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from lab.experiments.entries import pick_entries
from lab.experiments.report import Measured, estimate_mean, render_csv, render_page
from tests.lab.experiments.experiment_doubles import TINY, make_cells, make_dataset


def measure(folder: Path, keys: tuple[str, ...] = ("random", "herding", "lens"), **changes: Any) -> Measured:
    size = replace(TINY, **changes)
    entries, benches, cells = pick_entries(size, keys), size.benches(make_dataset), make_cells(folder, size=size)
    figures = {(entry.name, bench): cells.figure(entry, bench) for entry in entries for bench in benches}
    return Measured(size, entries, benches, figures)


def test_one_dataset_has_students_interval() -> None:
    values = [0.7, 0.8, 0.85, 0.6]
    found = estimate_mean([values])
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.bounds == pytest.approx((expected.low, expected.high))


def test_two_datasets_have_welchs_interval_and_count_the_same() -> None:
    one, other = [0.7, 0.8, 0.85, 0.6], [0.5, 0.52, 0.9]
    welch = ttest_ind(one, [-value for value in other], equal_var=False).confidence_interval(0.95)
    assert estimate_mean([one, other]).bounds == pytest.approx((welch.low / 2, welch.high / 2))
    assert estimate_mean([[1.0] * 5, [0.0]]) == (0.5, None)  # a single seed has no interval
    assert estimate_mean([[0.5, 0.5], [0.25, 0.25]]) == (0.375, None)


def test_means_are_those_of_the_cells_templates_first(tmp_path: Path) -> None:
    measured = measure(tmp_path, ("lens",), datasets=("reviews",), templates=(0, 1))
    rows = {row["calibrated"]: row for row in csv.DictReader(io.StringIO(render_csv(measured)))}
    figures = list(measured.figures.values())
    assert float(rows["no"]["mean"]) == pytest.approx(np.mean([one.accuracy for one in figures]))
    assert float(rows["yes"]["mean"]) == pytest.approx(np.mean([one.calibrated for one in figures]))
    assert (rows["no"]["seeds"], rows["no"]["templates"]) == ("2", "2")
    assert float(rows["no"]["low"] or "nan") <= float(rows["no"]["mean"])


def test_page_can_be_read_alone(tmp_path: Path) -> None:
    page = render_page(measure(tmp_path))
    for part in ("`table`", "reviews", "news", "seeds 0, 1", "20 to 20 test rows", "95 %", "float32 on cpu", TINY.note):
        assert part in page, part
    (header,) = {line for line in page.splitlines() if line.startswith("| method")}
    assert header == "| method | reviews | news | mean | LENS is ahead by |"
    assert len(re.findall(r"^\| LENS \|", page, re.MULTILINE)) == 2


def test_table_without_lens_compares_with_nothing_and_a_seed_has_no_interval(tmp_path: Path) -> None:
    measured = measure(tmp_path, ("herding",), seeds=(0,), datasets=("reviews",))
    assert "ahead by" not in render_page(measured)
    assert {(row["low"], row["high"]) for row in csv.DictReader(io.StringIO(render_csv(measured)))} == {("", "")}

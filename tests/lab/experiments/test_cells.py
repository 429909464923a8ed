"""Figures of the table, without a language model."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.experiments.cells import Cells, calibrate
from lab.experiments.datasets import known_settings
from lab.experiments.entries import LENS, RIVAL, Entry, make_entries
from lab.experiments.searches import choose_random, count_random, search_by_lens
from lab.experiments.sizes import SIZES
from lab.paper_tasks import PAPER_TASKS
from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.method.permutations import draw_permutations
from lens_engine.model.base import Prefix
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.lab.experiments.experiment_doubles import BENCH, TINY, RandomEvidence, make_cells, make_dataset

ENTRIES = make_entries(TINY.many_rows)


def config_of(entry: Entry, **options: Any) -> SelectionConfig:
    return entry.config(replace(TINY, options={**TINY.options, **options}), make_dataset().settings, BENCH.seed)


def prompts_of(cells: Cells, key: str) -> list[list[Example]]:
    return [list(one) for one in cells.prompts(ENTRIES[key], BENCH, config_of(ENTRIES[key]))]


@pytest.mark.parametrize("key", ENTRIES)
def test_prompts_are_label_balanced_candidates_and_repeatable(tmp_path: Path, key: str) -> None:
    cells = make_cells(tmp_path)
    found = prompts_of(cells, key)
    candidates = cells.setup(BENCH, config_of(ENTRIES[key])).lens_rows.candidates

    assert len(found) == (10 if key == "random" else 1)
    for prompt in found:
        balanced = {} if key == "zero_shot" else {"positive": 2, "negative": 2}
        assert Counter(one.label for one in prompt) == balanced
        assert set(prompt) <= set(candidates)
    assert prompts_of(make_cells(tmp_path), key) == found


@pytest.mark.parametrize("is_best", [True, False])
def test_prompt_of_lens_is_that_of_its_search(tmp_path: Path, is_best: bool) -> None:
    def log_prob(prefix: Prefix, query: str, span: str) -> float:
        """Even rows are "great". The model is right after demonstrations, or without them."""
        numbers = re.findall(r"\d+", query)  # none in the content-free input
        is_gold = (int(numbers[-1]) % 2 == 0) == ("great" in span) if numbers else True
        return -0.5 if is_gold == (bool(prefix) == is_best) else -1.0

    cells = make_cells(tmp_path, TableScorer(log_prob))
    figures = [cells.figure(ENTRIES[key], BENCH) for key in (LENS, "zero_shot")]
    assert [figure.accuracy for figure in figures] == ([1.0, 0.0] if is_best else [0.0, 1.0])
    assert {(figure.n, figure.machine) for figure in figures} == {(20, "float32 on cpu")}


def test_finished_cell_is_read_and_needs_no_model(tmp_path: Path) -> None:
    lines = list[str]()
    found = make_cells(tmp_path, say=lines.append).figure(ENTRIES[LENS], BENCH)
    assert lines[0].startswith(f"1  reviews seed 3 LENS  {found.accuracy:.3f}  (")

    again = make_cells(tmp_path, say=lines.append)
    assert again.figure(ENTRIES[LENS], BENCH) == found
    assert ("scorer" in vars(again), len(lines)) == (False, 1)

    (path,) = tmp_path.iterdir()
    path.write_text("{")
    with pytest.raises(InvalidConfig, match=f"{path.name} is damaged; remove it"):
        make_cells(tmp_path).figure(ENTRIES[LENS], BENCH)


def test_whatever_decides_a_figure_has_a_cell_of_its_own(tmp_path: Path) -> None:
    options = {**TINY.options, "filtering": {"candidates": 20, "keep": 12}}
    sizes = [TINY, replace(TINY, model="other"), replace(TINY, dtype="float32"), replace(TINY, options=options)]
    for size in sizes:
        for bench in (BENCH, BENCH._replace(seed=4), BENCH._replace(template="{text} {label}")):
            for key in ("zero_shot", "random", "herding", "craig"):
                make_cells(tmp_path, size=size).figure(ENTRIES[key], bench)
    assert len(list(tmp_path.iterdir())) == 4 * 3 * 4


def test_coreset_methods_of_a_bench_share_a_fine_tuning(tmp_path: Path) -> None:
    tuner = RandomEvidence()
    cells = make_cells(tmp_path, fine_tune=tuner)
    prompts = {key: prompts_of(cells, key)[0] for key in ("least_confidence", "entropy", "margin")}

    assert tuner.seeds == [3]
    assert len({frozenset(prompt) for prompt in prompts.values()}) == 1  # with two labels all choose the same rows
    assert len(set(map(tuple, prompts.values()))) > 1  # the order is drawn


def test_calibrated_probabilities_match_the_example_by_hand() -> None:
    log_probs = np.log(np.array([[[0.30, 0.10], [0.06, 0.02]]] * 2, dtype=np.float32))  # [prefixes, queries, labels]
    content_free = np.log(np.array([[0.18, 0.02], [0.1, 0.1]], dtype=np.float32))
    # p = (0.75, 0.25), p_cf = (0.9, 0.1): 0.75/0.9 = 5/6 against 0.25/0.1 = 5/2, so a quarter and three quarters

    calibrated = np.exp(calibrate(log_probs, content_free))

    shares = calibrated / calibrated.sum(axis=-1, keepdims=True)
    assert shares == pytest.approx(np.array([[[0.25, 0.75]] * 2, [[0.75, 0.25]] * 2]), abs=1e-6)


@pytest.mark.parametrize("given", [None, 3])
def test_random_and_validation_costs_what_lens_does_and_takes_the_best(tmp_path: Path, given: int | None) -> None:
    def log_prob(prefix: Prefix, query: str, span: str) -> float:
        """The sum of the numbers of the demonstrations decides how likely the gold label is."""
        worth = sum(map(int, re.findall(r"\d+", "".join(prefix)))) / 1000
        return -1.0 if (int(re.findall(r"\d+", query)[-1]) % 2 == 0) == ("great" in span) else -2.0 - worth

    cells = make_cells(tmp_path, TableScorer(log_prob))
    setup = cells.setup(BENCH, config_of(ENTRIES[RIVAL]))
    lens, rival = (cells._meter(setup, BudgetOptions()) for _ in range(2))
    chosen = choose_random(setup, rival, given)
    search_by_lens(setup, lens)

    number, num_rows = given or count_random(setup), len(setup.lens_rows.validation)
    assert rival.spent.pairs == number * num_rows
    if given is None:
        assert lens.spent.pairs <= rival.spent.pairs
        assert lens.spent.tokens <= rival.spent.tokens
        one = setup.prices.judging(1, num_rows)
        assert rival.spent.pairs < lens.spent.pairs + one.pairs or rival.spent.tokens < lens.spent.tokens + one.tokens
    candidates, quotas = setup.lens_rows.candidates, setup.rows.quotas
    drawn = draw_permutations(candidates, setup.task, quotas, BENCH.seed, number)
    assert chosen == max(drawn, key=lambda one: sum(candidates[place].row for place in one))


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", PAPER_TASKS)
def test_every_dataset_has_a_valid_configuration_at_every_size(size: Any, name: str) -> None:
    config = size.config(known_settings(name))
    assert config.num_demonstrations == PAPER_TASKS[name].num_demonstrations
    assert config.balanced == PAPER_TASKS[name].balanced


def test_benches_go_seed_by_seed() -> None:
    benches = replace(TINY, templates=(0, 1)).benches(make_dataset)
    assert [bench.seed for bench in benches] == [0] * 4 + [1] * 4
    assert [bench.dataset for bench in benches[:4]] == ["reviews", "reviews", "news", "news"]
    with pytest.raises(InvalidConfig, match="reviews has 2 templates, counted from 0; there is no 3"):
        replace(TINY, templates=(0, 3)).benches(make_dataset)

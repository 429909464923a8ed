"""The search of LENS: what its steps cost, and that any packed state leads to the same findings."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lens_engine.metering.prices import Cost
from lens_engine.method.beam import SearchState
from lens_engine.method.judgement import EvaluationRows, judge
from lens_engine.method.lens import Lens, LensState
from lens_engine.method.objective import PromptObjective, Score
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import PreparedRun, prepare_run

Make = Callable[..., Any]


@pytest.fixture
def prepare(problem: Problem, make_planted_scorer: Make, make_config: Make) -> Callable[..., PreparedRun]:
    def run(**search: Any) -> PreparedRun:
        return prepare_run(problem, make_planted_scorer(), make_config(search=search))

    return run


@pytest.mark.parametrize("search", [{}, {"halvings": 2, "first_permutations": 24, "validation": 4}, {"is_apart": True}])
def test_steps_keep_to_the_price_and_go_on_from_any_packed_state(search: dict[str, Any], prepare: Any) -> None:
    prepared = prepare(**search)
    lens = Lens(prepared.setup)
    states = [lens.start(), *lens.steps(lens.start(), prepared.meter)]
    found = lens.findings(states[-1])

    for state in (states[0], states[2], states[len(states) // 2], states[-1]):
        values, arrays = state.pack()
        resumed, other = LensState.unpack(json.loads(json.dumps(values)), arrays), prepare(**search)
        again, packed = resumed.pack()
        assert json.dumps(again) == json.dumps(values)
        np.testing.assert_equal(packed, arrays)
        for step in Lens(other.setup).steps(resumed, other.meter):
            resumed = step
        assert lens.findings(resumed).finalists == found.finalists
    price, spent = sum(lens.price().values(), Cost()), prepared.meter.spent
    assert spent.pairs <= price.pairs
    assert spent.tokens <= 1.05 * price.tokens


@pytest.mark.parametrize("is_apart", [False, True])
def test_findings_are_label_balanced_search_rows_and_no_example_helps_itself(is_apart: bool, prepare: Any) -> None:
    prepared = prepare(is_apart=is_apart)
    lens, rows = Lens(prepared.setup), prepared.setup.lens_rows
    *_, last = lens.steps(lens.start(), prepared.meter)

    found = lens.findings(last)

    assert 1 <= len(found.finalists) <= 6
    for permutation in found.finalists:
        assert Counter(rows.candidates[one].label for one in permutation) == {"negative": 2, "positive": 2}
    assert {*rows.candidates, *rows.validation} == set(prepared.setup.rows.search)
    assert bool({*rows.candidates} & {*rows.validation}) is not is_apart
    own = {one.row: place for place, one in enumerate(rows.score_set)}
    assert set(own) & set(found.gains)
    for row, gains in found.gains.items():
        assert np.flatnonzero(np.isnan(gains)).tolist() == ([own[row]] if own.get(row, 99) < len(gains) else [])
        assert found.info_scores[row] == pytest.approx(np.nanmean(gains))
    task, judged = prepared.setup.task, PromptObjective(is_smoothed=False)
    for one, score in last.search.scores.items():
        shown = [rows.candidates[place] for place in last.to_candidates(one)]
        kept = EvaluationRows(task, tuple(row for row in rows.validation if row not in shown))
        assert [score] == judged.scores(judge(prepared.meter, [task.render_prefix(shown)], kept), is_final=True)


def test_finalists_are_the_best_for_each_use_and_of_the_beam(prepare: Any) -> None:
    lens, figures = Lens(prepare().setup), [(0.9, 0.1), (0.8, 0.2), (0.1, 0.9), (0.2, 0.8), (0.7, 0.7), (0.6, 0.7)]
    *_, last = lens.steps(lens.start(), prepare().meter)
    by_use = {(one, 7): (Score(first, 0.0), Score(second, 0.0)) for one, (first, second) in enumerate(figures)}
    search = SearchState(
        0, ((4, 7), (5, 7), (0, 7), (2, 7)), {one: each[0] for one, each in by_use.items()}, (), by_use
    )

    found = lens.findings(replace(last, search=search)).finalists

    assert found == tuple(last.to_candidates((one, 7)) for one in range(6))


def test_many_rows_rank_for_both_uses(prepare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(first_permutations=8)
    for least, uses in ((len(prepared.setup.lens_rows.validation), (0, 1)), (1_000, (0,))):
        monkeypatch.setattr("lens_engine.method.lens._LEAST_ROWS_FOR_BOTH", least)
        *_, last = Lens(prepared.setup).steps(Lens(prepared.setup).start(), prepared.meter)
        assert last.search is not None
        for one, score in last.search.scores.items():
            assert score.figure == pytest.approx(np.mean([last.search.by_use[one][use].figure for use in uses]))

"""Judging rung by rung, and the table that it fills."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.classifier.regression import cut_folds, normalise
from lens_engine.metering.limits import Stopped
from lens_engine.method.judgement import Judgement
from lens_engine.method.objective import find_label_biases
from lens_engine.method.setup import Findings
from lens_engine.rows.problem import Problem
from lens_engine.run.choose import Scores
from lens_engine.run.judge import Judge, Judging, ask_prompts, plan_rungs_of_judging, price_judging
from lens_engine.run.preparation import PreparedRun, prepare_run
from lens_engine.run.propose import Proposal, propose
from lens_engine.run.selection_run import SelectionRun
from lens_engine.run.state import MemoryCheckpointStore
from lens_engine.run.table import NO_ANSWER, Table
from lens_engine.show.sentences import describe_cost
from lens_engine.testing import TableScorer

Make = Callable[..., Any]
FORMS = ("fixed", "nearest", "fixed+nearest")


@given(num_rows=st.integers(1, 1000), num_prompts=st.integers(1, 80))
def test_rungs_cover_the_rows_once_and_never_grow(num_rows: int, num_prompts: int) -> None:
    rungs = plan_rungs_of_judging(num_rows, num_prompts)
    assert [rung.start for rung in rungs] == [0, *(rung.end for rung in rungs[:-1])]
    assert rungs[-1].end == num_rows
    assert rungs[0].permutations == num_prompts
    assert rungs[0].end >= min(num_rows, 12)
    assert all(rung.end > rung.start for rung in rungs)
    assert all(one.permutations >= other.permutations >= min(num_prompts, 6) for one, other in pairwise(rungs))


def test_eighth_quarter_half_and_all_of_many_rows() -> None:
    found = [(rung.permutations, rung.end) for rung in plan_rungs_of_judging(400, 40)]
    assert found == [(40, 50), (13, 100), (7, 200), (6, 400)]
    assert [(rung.permutations, rung.end) for rung in plan_rungs_of_judging(10, 40)] == [(40, 10)]


@pytest.fixture
def prepare(make_planted_problem: Make, make_planted_scorer: Make, make_config: Make) -> Callable[..., PreparedRun]:
    def run(
        count: int = 240, scorer: Any = None, *, budget: int | None = None, rows: Any = None, **search: Any
    ) -> PreparedRun:
        config = make_config(search=search, budget={"max_pairs": budget}, rows=rows or {})
        return prepare_run(make_planted_problem(count), scorer or make_planted_scorer(), config)

    return run


def finish(prepared: PreparedRun) -> tuple[Judge, list[Judging]]:
    """The judge, and every state that it saved."""
    saved = list[Judging]()
    proposals = propose(prepared.setup, Findings(), prepared.meter)
    judge = Judge(prepared.setup, prepared.meter, proposals)
    assert judge.finish(judge.start(), saved.append) is saved[-1]
    return judge, saved


@pytest.mark.parametrize(
    ("count", "search"),
    [(20, {}), (60, {"forms": FORMS}), (60, {"forms": ("nearest",)}), (240, {"forms": FORMS, "sets": 40})],
)
def test_judging_keeps_to_its_price_and_to_what_is_compared(count: int, search: dict[str, Any], prepare: Any) -> None:
    prepared = prepare(count, **search)
    judge, saved = finish(prepared)
    price, spent, judged = price_judging(prepared.setup, judge.proposals), prepared.meter.spent, saved[-1]
    assert 0 < spent.pairs <= price.pairs
    assert spent.tokens <= 1.1 * price.tokens  # lengths are means
    assert spent.pairs == sum(len(cells) for cells in judged.cells.values())
    assert set(judged.cells) == set(range(len(judge.proposals)))
    left = {judge.proposals[one].method for one in judged.left}
    assert left >= {"zero_shot", *["random"] * ("fixed" in search.get("forms", ["fixed"]))}
    assert {len(judged.cells[one]) for one in judged.left} == {len(prepared.setup.rows.judging)}
    for one, cells in judged.cells.items():
        rows = prepared.setup.rows.judging[: len(cells)]
        (again,) = ask_prompts(prepared.setup, prepared.meter, [judge.proposals[one]], rows)
        np.testing.assert_array_equal(cells, again)


def test_judging_goes_on_from_any_state_to_the_same_end_and_asks_nothing_again(prepare: Any) -> None:
    judge, saved = finish(prepare(60, forms=FORMS))
    for state in (saved[0], saved[len(saved) // 2], saved[-2]):
        other = prepare(60, forms=FORMS)
        again = Judge(other.setup, other.meter, judge.proposals).finish(state, lambda _: None)
        assert (again.left, again.rungs_done) == (saved[-1].left, saved[-1].rungs_done)
        np.testing.assert_equal(again.cells, saved[-1].cells)
        known = sum(len(cells) for cells in state.cells.values())
        assert other.meter.spent.pairs == sum(len(cells) for cells in again.cells.values()) - known


def test_what_was_saved_before_a_stop_stays(prepare: Any) -> None:
    prepared, saved = prepare(60, budget=200), list[Judging]()
    judge = Judge(prepared.setup, prepared.meter, propose(prepared.setup, Findings(), prepared.meter))
    with pytest.raises(Stopped):
        judge.finish(judge.start(), saved.append)
    assert saved
    assert prepared.meter.spent.pairs <= 200


def test_judging_ends_early_where_all_prompts_are_alike(prepare: Any) -> None:
    def answer(_: object, query: str, span: str) -> float:
        return -1.0 if ("sunny" in query) == (span.strip() == "POSITIVE") else -2.0

    options = {"sets": 40, "rows": {"search": 0, "judging": 240}}
    prepared = prepare(240, TableScorer(answer), **options)
    judge, saved = finish(prepared)
    most, asked = price_judging(prepared.setup, judge.proposals).pairs, prepared.meter.spent.pairs
    assert len(saved[-1].left) <= 4
    assert asked < 0.8 * most
    run = SelectionRun(prepare(240, TableScorer(answer), **options), MemoryCheckpointStore())
    result = run.result(run.finish())
    assert result.cost.pairs_saved == most - asked
    assert f" {most - asked:,} pairs less, because prompts that could hardly win" in describe_cost(result)


def test_best_fixed_prompt_stays_where_nearest_rows_are_better(prepare: Any) -> None:
    shares = dict[tuple[str, ...], int]()  # of how many texts in four a fixed prompt is right

    def answer(prefix: tuple[str, ...], query: str, span: str) -> float:
        is_right = crc32(query.encode()) % 4 < shares.get(prefix, 4)
        return -1.0 if (("sunny" in query) == (span.strip() == "POSITIVE")) == is_right else -2.0

    prepared = prepare(240, TableScorer(answer), forms=("fixed", "nearest"), sets=16, rows={"search": 0})
    proposals = propose(prepared.setup, Findings(), prepared.meter)
    fixed = {one.name: prepared.setup.task.render_prefix(one.rows) for one in proposals if not one.form.nearest}
    shares |= {prefix: 2 + (name == "spread 5") for name, prefix in fixed.items()}
    _, saved = finish(prepared)
    assert "spread 5" in [proposals[one].name for one in saved[-1].left]


def test_best_prompt_stays_where_cheaper_ones_are_chosen(prepare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def chances(scores: Scores, _: object) -> Any:
        first, last = np.eye(len(scores.values))[[0, -1]]
        return np.array([last, first])

    monkeypatch.setattr(Scores, "chances", chances)
    judge, saved = finish(prepare(240, forms=FORMS))
    assert judge.proposals[-1].form.nearest
    assert saved[-1].left[-1] == len(judge.proposals) - 1


@pytest.mark.parametrize("count", [40, 240])
def test_nearest_rows_are_all_but_the_judged_one(count: int, prepare: Any) -> None:
    asked = list[tuple[tuple[str, ...], str]]()

    def answer(prefix: tuple[str, ...], query: str, _: str) -> float:
        asked.append((prefix, query))
        return -1.0

    prepared = prepare(count, TableScorer(answer), forms=FORMS)
    setup = prepared.setup
    for one in propose(setup, Findings(), prepared.meter):
        if one.form.nearest:
            ask_prompts(setup, prepared.meter, [one], [row for row in setup.rows.judging if row not in one.rows])
    assert asked
    for prefix, query in asked:
        assert not any(query.removesuffix(" It was") in demonstration for demonstration in prefix)
    found = {demonstration for prefix, _ in asked for demonstration in prefix}
    rendered = {setup.task.render_demonstration(row) for row in setup.rows.judging}
    assert found & rendered, "judging rows are found for others"


def test_line_has_no_answer_for_rows_that_its_prompt_shows(prepare: Any) -> None:
    judge, saved = finish(prepare(60))
    setup, judged = judge.setup, saved[-1]
    table = Table.of(setup, judge.proposals, judged.cells)
    assert {line.use for line in table.lines} == {"prompt", "probabilities"}
    for line in table.lines:
        assert line.prompt is not None
        shown = {one.row for one in judge.proposals[line.prompt].rows}
        expected = [
            at < len(judged.cells[line.prompt]) and one.row not in shown for at, one in enumerate(setup.rows.judging)
        ]
        assert ((table.answers(line) != NO_ANSWER) == expected).all()
        assert (~np.isnan(table.score([line]).values[0]) == expected[: line.num_asked]).all()
    plain = next(line for line in table.lines if line.use == "prompt")
    hits = table.answers(plain)[plain.places] == table.gold[plain.places]
    assert np.nanmean(table.score([plain]).values) == pytest.approx(hits.mean())


def test_label_biases_of_a_row_do_not_depend_on_its_own_fold(prepare: Any) -> None:
    setup = prepare(60).setup
    proposal = Proposal("no examples", "zero_shot")
    cells = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)

    def read(scores: np.ndarray) -> np.ndarray:
        (found,) = (one for one in Table.of(setup, [proposal], {0: scores}).lines if one.use == "probabilities")
        return found.log_probs

    gold, base = setup.task.index_labels(setup.rows.judging), read(cells)
    for held_out, rest in cut_folds(gold):
        changed = cells.copy()
        changed[held_out[1:]] += np.float32([3.0, 0.0])
        np.testing.assert_array_equal(read(changed)[held_out[0]], base[held_out[0]])
        assert not np.allclose(read(changed)[rest], base[rest])
        biases = find_label_biases(Judgement(cells[rest], gold[rest]))
        np.testing.assert_allclose(base[held_out], normalise(cells[held_out] + biases), atol=1e-6)


def test_contender_is_cheaper_if_it_takes_half_of_the_tokens(problem: Problem, make_config: Make) -> None:
    setup = prepare_run(problem, TableScorer(), make_config()).setup
    (line, *_) = Table.of(setup, [Proposal("no examples", "zero_shot")], {0: np.zeros((3, 2), np.float32)}).lines
    prices = [replace(line, tokens=tokens, tokens_held=held).price for tokens, held in ((15, 0), (29, 0), (31, 0))]
    assert prices == [4.0, 4.0, 5.0]
    assert replace(line, tokens=15, tokens_held=160).price == 5.0  # a held token counts a tenth

"""The objective macro_f1: prompts, wordings and the classifier are chosen by it, and compared by it."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.metrics import f1_score

from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.scoring.base import Prefix
from lens_engine.search.judgement import EvaluationRows, judge
from lens_engine.search.permutations import draw_permutations
from lens_engine.show.words import say_right
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example

Make = Callable[..., Any]
WORDS = {"common": "common", "rare": "rare"}
TASK = Task("{text} It was {label}.", WORDS)
KIND = Task("{text} Kind: {label}.", WORDS)
ROWS = [Example(row, f"text {row * 7919 % 10007} {'rr' if row % 6 == 0 else 'cc'}", "common") for row in range(420)]
ROWS = [Example(one.row, one.text, "rare" if one.row % 6 == 0 else "common") for one in ROWS]


def leaning(prefix: Prefix, query: str, span: str) -> float:
    """The model half knows the rare label, and a prompt leans towards it or away from it."""
    if "rare" not in span:
        return -1.0
    lean, noise = hashed_log_prob(prefix, "", "lean") / 2, hashed_log_prob(prefix, query, "noise") / 2
    return 0.5 + lean + noise + 1.0 * (" rr " in query)


def torn(_: Prefix, query: str, span: str) -> float:
    """One wording has always the common label, and the other finds rare ones and errs on common ones."""
    if "It was" in query:
        return 0.0 if "common" in span else -3.0
    is_found = hashed_log_prob((), query, "find") > (-7.0 if " rr " in query else -2.4)
    return 0.0 if is_found == ("rare" in span) else -3.0


@pytest.fixture(scope="module")
def select(make_config: Make) -> Callable[..., SelectionResult]:
    def run(*others: Task, log_prob: Any = leaning, store: Any = None, **options: Any) -> SelectionResult:
        problem = Problem(TASK, ROWS, alternatives=others)
        return select_support_examples(problem, TableScorer(log_prob), make_config(**options), checkpoints=store)

    return run


@pytest.fixture(scope="module")
def by_macro_f1(select: Callable[..., SelectionResult]) -> SelectionResult:
    return select(objective="macro_f1", classifier={"kind": "auto"})


@pytest.mark.parametrize("objective", ["accuracy", "macro_f1"])
def test_random_and_validation_keeps_the_best_by_the_objective(
    objective: str, select: Callable[..., SelectionResult], make_config: Make, make_meter: Make
) -> None:
    splits, count = {"validation": 80}, 64
    config, problem = make_config(splits=splits), Problem(TASK, ROWS)
    rows = split_examples(problem, config)
    drawn = draw_permutations(rows.candidates, TASK, rows.quotas, config.seed, 0, count)
    prefixes = TASK.render_permutations(rows.candidates, drawn)
    meter = make_meter(TableScorer(leaning), label_spans=TASK.label_spans)
    judgements = judge(meter, prefixes, EvaluationRows(TASK, rows.validation))
    found = {
        "accuracy": [float(one.correct.mean()) for one in judgements],
        "macro_f1": [float(f1_score(one.gold, one.predictions, average="macro")) for one in judgements],
    }
    best = {
        name: {drawn[place] for place, value in enumerate(values) if value == pytest.approx(max(values))}
        for name, values in found.items()
    }
    assert not best["accuracy"] & best["macro_f1"]

    random_search = {"permutations": count}
    result = select(method="random_and_validation", random_search=random_search, splits=splits, objective=objective)
    assert result.rows in {tuple(rows.candidates[index].row for index in one) for one in best[objective]}


def test_result_is_read_by_macro_f1_beside_the_accuracy(by_macro_f1: SelectionResult) -> None:
    answer = by_macro_f1.answer
    test, judged, largest = answer.test, answer.judged, by_macro_f1.tested_first
    assert test is not None
    assert judged is not None
    assert largest is not None
    assert f"right for {say_right(test, 'macro_f1', ' test texts')}" in answer.reason
    told, summary = f"macro-F1 {largest.largest_class_macro_f1:.2f}", by_macro_f1.summary()
    assert told in summary
    assert f"was right for {say_right(judged, 'macro_f1')} of the rows" in summary
    assert "cross-val. macro-F1" in summary
    assert judged.macro_f1 == max(
        one.judged.macro_f1 for one in answer.contenders if one.judged is not None and one.form.kind == "fixed"
    )


def test_lead_is_one_of_macro_f1(by_macro_f1: SelectionResult) -> None:
    lead = by_macro_f1.lead
    assert lead is not None
    assert lead.macro_f1 is not None
    assert lead.macro_f1 >= 0.0


@pytest.mark.parametrize(("objective", "template"), [("accuracy", TASK), ("macro_f1", KIND)])
def test_wording_is_chosen_by_the_objective(
    objective: str, template: Task, select: Callable[..., SelectionResult]
) -> None:
    result = select(
        Task("{text} Kind: {label}.", WORDS),
        log_prob=torn,
        objective=objective,
        method="random",
        splits={"validation": 80},
    )
    assert result.task.template == template.template.pattern
    first, second = (one for one in result.wordings)
    assert (first.macro_f1 > second.macro_f1) == (objective == "macro_f1")


def test_figures_by_which_the_classifier_is_chosen_are_paired_by_row(by_macro_f1: SelectionResult) -> None:
    chosen = next(one for one in by_macro_f1.tested if one.is_chosen)
    best = max(one.cross_validated.macro_f1 or 0.0 for one in by_macro_f1.tested)
    error = chosen.cross_validated.macro_f1_error
    assert error is not None
    assert best - (chosen.cross_validated.macro_f1 or 0.0) <= 2 * error

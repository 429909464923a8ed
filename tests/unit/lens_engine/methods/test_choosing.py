"""Other methods than LENS, through the same selection."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from lens_engine.config import CORESET_METHODS, METHOD_NAMES, CoresetMethod, SelectionConfig
from lens_engine.errors import InvalidConfig, NothingSelected
from lens_engine.judging.judgement import EvaluationRows, judge
from lens_engine.judging.score import Score, rank_key
from lens_engine.language_model.fine_tuning.evidence import Evidence, LabelledRows
from lens_engine.methods.catalogue import METHODS
from lens_engine.methods.coreset.method import SELECTORS
from lens_engine.methods.permutations import draw_permutations
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.preparation import estimate_cost
from lens_engine.task.template import Task
from lens_engine.types import Example, Phase, StopReason

Make = Callable[..., Any]


@dataclass
class PlantedFineTuner:
    """Evidence in which the least confident rows are those of the highest planted quality."""

    batches: int = 4
    asked: list[tuple[int, int, int]] = field(default_factory=list)

    def __call__(
        self,
        task: Task,
        pool: Sequence[Example],
        *,
        validation: Sequence[Example],
        seed: int,
        on_batch: Callable[[int, int], None],
    ) -> Evidence:
        self.asked.append((len(pool), len(validation), seed))
        for batch in range(self.batches):
            on_batch(batch * len(pool), self.batches * len(pool))
        rows, others = self._describe(task, pool), self._describe(task, validation)
        norms, correct = np.ones((1, len(pool))), np.ones((5, len(pool)), dtype=np.bool_)
        return Evidence(rows.groups, rows.features, rows.probabilities, norms, correct, "float32", others)

    def _describe(self, task: Task, examples: Sequence[Example]) -> LabelledRows:
        groups = np.array([task.label_indices[example.label] for example in examples], dtype=np.intp)
        quality = np.array([quality_of(example.text) for example in examples]) / 100
        features = np.stack([quality, np.ones(len(examples)), np.arange(len(examples)) % 7.0], axis=1)
        top = 1.0 - quality / 2
        return LabelledRows(groups, features, np.stack([top, 1.0 - top], axis=1))


def quality_of(text: str) -> int:
    return int(text.split("quality")[1].split()[0])


@pytest.fixture(scope="module")
def problem(make_planted_problem: Make) -> Problem:
    found: Problem = make_planted_problem()
    return found


@pytest.fixture(scope="module")
def select(problem: Problem, make_planted_scorer: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(
        method: str, *, listener: Any = None, checkpoints: Any = None, fine_tuner: Any = None, **options: Any
    ) -> SelectionResult:
        return select_support_examples(
            problem,
            make_planted_scorer(),
            make_config(method=method, **options),
            listener=listener,
            checkpoints=checkpoints,
            fine_tuner=fine_tuner or PlantedFineTuner(),
        )

    return run


def find_best_by_hand(problem: Problem, config: SelectionConfig, meter: Any, count: int) -> tuple[int, ...]:
    """Rows of the best of so many random permutations, each judged on every validation row."""
    rows = split_examples(problem, config)
    drawn = draw_permutations(rows.candidates, problem.task, config, 0, count)
    prefixes = problem.task.render_permutations(rows.candidates, drawn)
    judgements = judge(meter, prefixes, EvaluationRows(problem.task, rows.validation), calibrated=False)
    best = min(range(count), key=lambda number: rank_key((number,), Score.of(judgements[number])))
    return tuple(rows.candidates[index].row for index in drawn[best])


def test_every_method_of_the_table_is_offered_once() -> None:
    assert ("lens", "zero_shot", "random", "random_and_validation", *CORESET_METHODS) == METHOD_NAMES
    assert set(CORESET_METHODS) == {*SELECTORS, "k_center"}
    assert set(METHODS) == set(METHOD_NAMES)


@pytest.mark.parametrize("method", [method for method in METHOD_NAMES if method not in ("lens", "zero_shot")])
def test_method_chooses_label_balanced_candidates_and_is_tested(
    method: str, select: Callable[..., SelectionResult], problem: Problem, make_config: Make
) -> None:
    result = select(method)

    candidates = {example.row for example in split_examples(problem, make_config()).candidates}
    assert len(set(result.rows)) == 4
    assert set(result.rows) <= candidates
    assert Counter(example.label for example in result.examples) == {"negative": 2, "positive": 2}
    assert result.test is not None
    assert result.test.n == 60
    assert result.provenance.config["method"] == method
    assert not result.partial
    assert (result.confirmation, result.verdict, result.lead, result.warnings) == (None, None, None, ())
    assert result.baselines.random_and_validation is None
    assert {example.info_score for example in result.examples} == {None}


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_same_seed_gives_the_same_digest_and_another_seed_another_choice(
    method: str, select: Callable[..., SelectionResult]
) -> None:
    first = select(method)

    assert select(method).digest == first.digest
    assert method == "zero_shot" or select(method, seed=1).rows != first.rows


def test_zero_shot_has_no_demonstrations(select: Callable[..., SelectionResult]) -> None:
    result = select("zero_shot")

    assert result.examples == ()
    assert result.test == result.baselines.zero_shot
    assert result.order is None


def test_random_is_the_first_of_the_random_permutations(
    select: Callable[..., SelectionResult], problem: Problem, make_config: Make
) -> None:
    config = make_config(method="random")
    rows = split_examples(problem, config)
    first = draw_permutations(rows.candidates, problem.task, config, 0, 1)[0]

    assert select("random").rows == tuple(rows.candidates[index].row for index in first)


def test_random_and_validation_keeps_the_best_on_the_validation_rows(
    select: Callable[..., SelectionResult],
    problem: Problem,
    make_config: Make,
    make_meter: Make,
    make_planted_scorer: Make,
) -> None:
    result = select("random_and_validation", random_search={"permutations": 21})

    best = find_best_by_hand(problem, make_config(), make_meter(make_planted_scorer()), 21)
    assert result.rows == best
    assert result.cost.permutations_judged == 21
    assert result.validation is not None
    assert result.validation.n == 20


def test_random_and_validation_has_the_budget_of_a_search_by_default(
    select: Callable[..., SelectionResult],
) -> None:
    """A beam of 4, three iterations of 16 children on 20 rows, and the beam on 16 confirmation rows."""
    result = select("random_and_validation")

    assert result.cost.permutations_judged == 4 + 3 * 16 + -(-4 * 16 // 20)
    lens = select("lens", search={"iterations": 3})
    rival = lens.baselines.random_and_validation
    assert rival is not None
    assert rival.permutations <= result.cost.permutations_judged


def test_rival_of_the_report_is_the_method_itself(select: Callable[..., SelectionResult]) -> None:
    lens = select("lens")
    rival = lens.baselines.random_and_validation
    assert rival is not None

    result = select("random_and_validation", random_search={"permutations": rival.permutations})

    assert result.rows == rival.rows
    assert result.test == rival.test


def test_random_and_validation_goes_on_from_any_checkpoint(
    select: Callable[..., SelectionResult], make_store: Make
) -> None:
    store = make_store()
    whole = select("random_and_validation", checkpoints=store)

    assert len(store.saved) > 8
    for checkpoint in store.saved:
        assert select("random_and_validation", checkpoints=make_store(checkpoint)).digest == whole.digest


def test_budget_ends_random_and_validation_with_the_best_so_far(
    select: Callable[..., SelectionResult],
    problem: Problem,
    make_config: Make,
    make_meter: Make,
    make_planted_scorer: Make,
) -> None:
    budget = {"max_pairs": 61 + 18 * 20}

    result = select("random_and_validation", budget=budget)

    assert result.partial
    assert result.stop_reason is StopReason.BUDGET
    assert result.rows == find_best_by_hand(problem, make_config(), make_meter(make_planted_scorer()), 16)
    assert "the search ended after 16 of 56 random permutations" in result.warnings


def test_budget_for_no_whole_batch_buys_a_random_permutation(select: Callable[..., SelectionResult]) -> None:
    result = select("random_and_validation", budget={"max_pairs": 61 + 2 * 20})

    assert result.stop_reason is StopReason.BUDGET
    assert result.rows == select("random").rows
    assert result.validation is None
    assert "the search ended after 0 of 56 random permutations" in result.warnings


def test_partial_random_search_is_finished_with_a_higher_budget_only_before_its_evaluation(
    select: Callable[..., SelectionResult], make_store: Make
) -> None:
    store = make_store()
    select("random_and_validation", budget={"max_pairs": 61 + 18 * 20}, checkpoints=store)
    in_search = [data for data in store.saved if Checkpoint.from_bytes(data).phase is Phase.SEARCH]

    finished = select("random_and_validation", checkpoints=make_store(in_search[-1]))
    ended = select("random_and_validation", checkpoints=make_store(store.saved[-1]))

    assert not finished.partial
    assert ended.stop_reason is StopReason.BUDGET


def test_budget_without_room_for_one_permutation_is_refused(select: Callable[..., SelectionResult]) -> None:
    with pytest.raises(InvalidConfig, match="a first permutation with the test rows takes 81") as caught:
        select("random_and_validation", budget={"max_pairs": 80})

    assert caught.value.field == "options.budget.max_pairs"


def test_coreset_method_presents_what_its_selector_chose(
    select: Callable[..., SelectionResult], problem: Problem, make_config: Make
) -> None:
    fine_tuner = PlantedFineTuner()

    result = select("least_confidence", fine_tuner=fine_tuner, seed=3)

    rows = split_examples(problem, make_config(seed=3))
    expected = list[Example]()
    for label in problem.task.labels:
        of_label = [example for example in rows.candidates if example.label == label]
        expected += sorted(of_label, key=lambda example: (-quality_of(example.text), example.row))[:2]
    assert set(result.rows) == {example.row for example in expected}
    assert fine_tuner.asked == [(len(rows.candidates), 20, 3)]


def test_order_of_a_coreset_is_drawn_from_the_seed(select: Callable[..., SelectionResult]) -> None:
    orders = set()
    for method in ("least_confidence", "entropy", "margin"):  # with two labels all three choose the same rows
        result = select(method)
        orders.add(result.rows)

    assert len({frozenset(order) for order in orders}) == 1
    assert len(orders) > 1


def test_coreset_without_balance_draws_from_one_group(select: Callable[..., SelectionResult]) -> None:
    result = select("least_confidence", balanced=False)

    best = sorted((quality_of(example.text) for example in result.examples), reverse=True)
    assert len(best) == 4


@pytest.mark.parametrize("method", CORESET_METHODS)
def test_coreset_method_without_a_model_to_train_is_refused_before_the_run(
    method: CoresetMethod, problem: Problem, make_planted_scorer: Make, make_config: Make
) -> None:
    scorer = make_planted_scorer()

    with pytest.raises(InvalidConfig, match=f"method '{method}' chooses by a fine-tuned model") as caught:
        select_support_examples(problem, scorer, make_config(method=method))

    assert caught.value.field == "options.method"
    assert scorer.num_calls == 0


def test_fine_tuning_is_shown_and_can_be_cancelled(select: Callable[..., SelectionResult], make_listener: Make) -> None:
    listener = make_listener()
    select("herding", listener=listener)
    heard = [progress for progress in listener.seen if progress.phase is Phase.FINE_TUNE]

    assert len(heard) > 3
    tokens = [progress.tokens_done for progress in heard]
    assert tokens == sorted(tokens)
    assert tokens[-1] > tokens[0]
    assert {(progress.step, progress.steps) for progress in heard} == {(1, 1)}
    with pytest.raises(NothingSelected) as caught:
        select("herding", listener=make_listener(stop_after=3))
    assert caught.value.stop_reason is StopReason.CANCELLED


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_estimate_is_what_a_run_spends_at_most(
    method: str, select: Callable[..., SelectionResult], problem: Problem, make_config: Make, make_planted_scorer: Make
) -> None:
    planned = estimate_cost(problem, make_planted_scorer(), make_config(method=method))

    result = select(method)

    races = method in ("lens", "random_and_validation")
    assert (result.cost.pairs < planned.total.pairs) if races else (result.cost.pairs == planned.total.pairs)
    assert (Phase.FINE_TUNE in planned.phases) == (method in CORESET_METHODS)
    assert (result.cost.permutations_judged > 0) == races

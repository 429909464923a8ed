from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import CheckpointForeign, InvalidConfig, NothingSelected
from lens_engine.metering.prices import Prices, TokenLengths
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import PRESETS
from lens_engine.result import PromptContender, SelectionResult
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.scoring.cache.scorer import remember_pairs
from lens_engine.testing import TableScorer
from lens_engine.types import LabelLogProbs, Phase, StopReason

Make = Callable[..., Any]


class PlacedScorer:
    """A scorer that says it computes elsewhere."""

    def __init__(self, scorer: TableScorer, *, surroundings: tuple[str, ...] = (), **place: str) -> None:
        self._scorer = scorer
        self._place = place
        self.surroundings = surroundings

    @property
    def identity(self) -> ScorerIdentity:
        return replace(self._scorer.identity, **self._place)

    @property
    def max_prompt_tokens(self) -> int:
        return self._scorer.max_prompt_tokens

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._scorer.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        return self._scorer.encode_label_spans(label_spans)

    def score(self, *asked: Any) -> LabelLogProbs:
        return self._scorer.score(*asked)


@pytest.fixture(scope="module")
def select(make_planted_problem: Make, make_planted_scorer: Make, make_config: Make) -> Callable[..., SelectionResult]:
    """A run on a planted problem; options as in a config, and listener, checkpoints and scorer if given."""

    def run(
        *, scorer: Any = None, listener: Any = None, checkpoints: Any = None, data: int = 0, **options: Any
    ) -> SelectionResult:
        problem, model = make_planted_problem(seed=data), scorer or make_planted_scorer()
        config = make_config(**options)
        return select_support_examples(problem, model, config, listener=listener, checkpoints=checkpoints)

    return run


@pytest.fixture(scope="module")
def whole(select: Callable[..., SelectionResult]) -> SelectionResult:
    return select()


@pytest.fixture(scope="module")
def watched(select: Callable[..., SelectionResult], make_listener: Make, make_store: Make) -> tuple[Any, Any, Any]:
    """The listener of a run, the store with every checkpoint, and the result."""
    listener, store = make_listener(), make_store()
    return listener, store, select(listener=listener, checkpoints=store)


@pytest.fixture(scope="module")
def heard(watched: tuple[Any, Any, Any]) -> tuple[Any, SelectionResult]:
    return watched[0], watched[2]


@pytest.fixture(scope="module")
def store(watched: tuple[Any, Any, Any]) -> Any:
    return watched[1]


@pytest.fixture(scope="module")
def saved(store: Any) -> list[bytes]:
    return list(store.saved)


OF_A_SELECTION = [phase for phase in Phase if phase is not Phase.WORDING]


def find(result: SelectionResult, method: str) -> PromptContender | None:
    return next((one for one in result.answer.contenders if one.method == method), None)


def quality_of(text: str) -> int:
    return int(text.split("quality")[1].split()[0])


@pytest.mark.parametrize(
    "options",
    [{"seed": 1}, {"filtering": {"contribution": "vocabulary"}}],
)
def test_planted_good_examples_are_found(options: dict[str, Any], select: Callable[..., SelectionResult]) -> None:
    result = select(**options)

    assert result.test is not None
    zero_shot = find(result, "zero_shot")
    assert result.random is not None
    assert zero_shot is not None
    assert zero_shot.test is not None
    assert result.test.accuracy > max(result.random.mean + 0.2, zero_shot.test.accuracy)
    assert sum(quality_of(example.text) for example in result.examples) / 4 >= 80  # of random examples: 50


def test_result_holds_every_figure_with_its_rows(whole: SelectionResult) -> None:
    assert not whole.partial
    assert whole.stop_reason is StopReason.COMPLETED
    assert [answer.use for answer in whole.support_examples] == ["prompt", "probabilities"]
    for answer in whole.support_examples:
        assert [one.method for one in answer.contenders] == ["lens", "zero_shot", "random_and_validation"]
        assert {one.judged.n for one in answer.contenders if one.judged} == {20 + 16}
        assert {one.test.n for one in answer.contenders if one.test} == {60}
        assert [one.label for one in answer.label_biases] == ["negative", "positive"]
        assert answer.comparison is not None
    random = whole.random
    assert random is not None
    assert random.n == 20
    assert random.permutations == whole.answer.comparison.permutations  # type: ignore[union-attr]


def test_examples_are_rows_of_the_upload_in_order_and_balanced(
    whole: SelectionResult, make_planted_problem: Make, make_config: Make
) -> None:
    problem = make_planted_problem()
    rows = split_examples(problem, make_config())

    assert [example.position for example in whole.examples] == [0, 1, 2, 3]
    for example in whole.examples:
        original = problem.examples[example.row]
        assert (example.text, example.label) == (original.text, original.label)
        assert original in rows.candidates
        assert example.tokens == len(problem.task.render_demonstration(original).split())
        assert example.label_word == example.label.upper()
    assert sorted(example.label for example in whole.examples) == ["negative"] * 2 + ["positive"] * 2
    assert whole.rows == tuple(example.row for example in whole.examples)


def test_resuming_from_any_checkpoint_gives_the_same_digest_and_scores_only_what_was_left(
    store: Any,
    heard: tuple[Any, SelectionResult],
    whole: SelectionResult,
    select: Callable[..., SelectionResult],
    make_store: Make,
    make_planted_scorer: Make,
) -> None:
    assert heard[1].digest == whole.digest
    for data in store.of_each_phase():
        scorer = make_planted_scorer()
        resumed = select(scorer=scorer, checkpoints=make_store(data))
        assert resumed.digest == whole.digest
        assert (resumed.cost.pairs, resumed.cost.tokens) == (whole.cost.pairs, whole.cost.tokens)
        assert scorer.num_pairs == whole.cost.pairs - Checkpoint.from_bytes(data).values["spent"][0]


@pytest.mark.parametrize(
    ("options", "place", "message"),
    [
        ({"data": 9}, {}, "other data, options, model"),
        ({"seed": 1}, {}, "other data, options, model"),
        ({"filtering": {"contribution": "vocabulary"}}, {}, "other data, options, model"),
        ({}, {"model": "another"}, "other data, options, model"),
        ({}, {"device": "cuda"}, "computed on cpu in float32"),
        ({}, {"dtype": "bfloat16"}, "computed on cpu in float32"),
        ({}, {"executor": "packed"}, "computed on cpu in float32"),
    ],
)
def test_checkpoint_of_other_data_options_or_model_is_foreign(
    options: dict[str, Any],
    place: dict[str, str],
    message: str,
    saved: list[bytes],
    select: Callable[..., SelectionResult],
    make_store: Make,
    make_planted_scorer: Make,
) -> None:
    scorer = PlacedScorer(make_planted_scorer(), **place)

    with pytest.raises(CheckpointForeign, match=message):
        select(scorer=scorer, checkpoints=make_store(saved[2]), **options)


@pytest.mark.parametrize(
    "changes",
    [
        *({name: ...} for name in ("spent", "method", "evaluation", "chosen")),
        *({"evaluation": value} for value in ({"unheard_of": 1}, {"done": 7}, None)),
    ],
)
def test_checkpoint_whose_values_are_missing_or_of_another_form_is_foreign(
    changes: dict[str, Any], saved: list[bytes], select: Callable[..., SelectionResult], make_store: Make
) -> None:
    checkpoint = Checkpoint.from_bytes(saved[2])
    values = {name: value for name, value in {**checkpoint.values, **changes}.items() if value is not ...}

    with pytest.raises(CheckpointForeign, match="a form that Lens cannot read"):
        select(checkpoints=make_store(replace(checkpoint, values=values).to_bytes()))


def test_result_names_the_gpu_also_through_the_pair_cache_and_its_digest_leaves_the_name_out(
    whole: SelectionResult, select: Callable[..., SelectionResult], make_planted_scorer: Make, tmp_path: Path
) -> None:
    first, second = (
        PlacedScorer(make_planted_scorer(), device="cuda", surroundings=("cuda 13.0", f"GPU {name}"))
        for name in ("NVIDIA H100", "NVIDIA H200")
    )
    results = [select(scorer=remember_pairs(first, cache_dir=tmp_path)), select(scorer=second)]

    assert [result.provenance.device_name for result in results] == ["NVIDIA H100", "NVIDIA H200"]
    assert results[0].digest == results[1].digest
    assert (whole.provenance.device, whole.provenance.device_name) == ("cpu", None)


def least_pairs(problem: Problem, config: SelectionConfig) -> int:
    planner = Prices(split_examples(problem, config), config, TokenLengths(1.0, 1.0))
    first = planner.filter_rounds[0]
    return first.pairs + first.new_columns + 2 * planner.testing().pairs


@pytest.mark.parametrize("share", [0.3, 0.99])
def test_budget_is_never_exceeded_and_always_buys_a_test_figure(
    share: float,
    whole: SelectionResult,
    select: Callable[..., SelectionResult],
    make_planted_scorer: Make,
    make_planted_problem: Make,
    make_config: Make,
) -> None:
    least = least_pairs(make_planted_problem(), make_config())
    limit = round(least + share * (whole.cost.pairs - least))
    scorer = make_planted_scorer()

    result = select(scorer=scorer, budget={"max_pairs": limit})

    assert scorer.num_pairs == result.cost.pairs <= limit
    assert result.partial
    assert result.stop_reason is StopReason.BUDGET
    assert result.test is not None
    assert len(result.examples) == 4
    assert sorted(example.label for example in result.examples) == ["negative"] * 2 + ["positive"] * 2


def test_steps_the_budget_does_not_cover_are_named(
    select: Callable[..., SelectionResult], whole: SelectionResult
) -> None:
    result = select(budget={"max_pairs": whole.cost.pairs - 1_200})

    assert find(result, "random_and_validation") is None
    assert result.answer.comparison is None
    assert any("did not cover" in warning and "the best random examples" in warning for warning in result.warnings)


def test_search_the_budget_cut_short_keeps_its_best(
    select: Callable[..., SelectionResult], whole: SelectionResult, saved: list[bytes]
) -> None:
    in_search = Checkpoint.from_bytes(saved[4]).values["spent"][0]

    result = select(budget={"max_pairs": in_search + 200})

    assert result.answer.judged is not None
    assert 0 < result.cost.permutations_judged < whole.cost.permutations_judged
    assert any("the search ended after" in warning and "of 3 iterations" in warning for warning in result.warnings)


def test_budget_in_filtering_chooses_among_the_best_kept(
    select: Callable[..., SelectionResult], make_planted_problem: Make, make_config: Make, make_store: Make
) -> None:
    store = make_store()
    least = least_pairs(make_planted_problem(), make_config())

    result = select(checkpoints=store, budget={"max_pairs": least})

    assert (result.answer.judged, result.cost.permutations_judged) == (None, 0)
    assert result.test is not None
    assert sum(quality_of(example.text) for example in result.examples) / 4 > 40
    info_scores = Checkpoint.from_bytes(store.saved[0]).arrays["contributions"].mean(axis=1)
    assert len(info_scores) > 2 * 24
    least_kept = sorted(info_scores, reverse=True)[2 * 24]  # 12 of each label, and one label may be the better one
    assert all(example.info_score > least_kept for example in result.examples)


def test_budget_below_the_least_is_refused_with_the_number(
    select: Callable[..., SelectionResult], make_planted_problem: Make, make_config: Make, make_planted_scorer: Make
) -> None:
    least = least_pairs(make_planted_problem(), make_config())
    scorer = make_planted_scorer()

    with pytest.raises(InvalidConfig, match=f"takes {least}") as refusal:
        select(scorer=scorer, budget={"max_pairs": least - 1})
    assert refusal.value.field == "options.budget.max_pairs"
    assert scorer.num_pairs == 0


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_budgeted_run_resumed_from_any_checkpoint_gives_the_same_digest(
    share: float,
    whole: SelectionResult,
    select: Callable[..., SelectionResult],
    make_store: Make,
    make_planted_problem: Make,
    make_config: Make,
) -> None:
    """With a share of 1.0 the budget has nothing to spare for asking again what was done before the resume."""
    least = least_pairs(make_planted_problem(), make_config())
    spare = 400 if share == 1.0 else 0
    budget = {"max_pairs": round(least + share * (whole.cost.pairs - least)) + spare}
    store = make_store()
    result = select(checkpoints=store, budget=budget)
    assert (find(result, "random_and_validation") is not None) or share < 1.0

    for data in store.of_each_phase():
        resumed = select(checkpoints=make_store(data), budget=budget)
        assert resumed.digest == result.digest
        assert resumed.cost.pairs == result.cost.pairs


def test_larger_budget_after_a_resume_keeps_what_was_tested(
    select: Callable[..., SelectionResult], make_store: Make, make_planted_problem: Make, make_config: Make
) -> None:
    store = make_store()
    first = select(checkpoints=store, budget={"max_pairs": least_pairs(make_planted_problem(), make_config())})

    resumed = select(checkpoints=make_store(store.saved[-1]), budget={"max_pairs": 10**9})

    assert resumed.rows == first.rows
    assert resumed.test == first.test


def test_progress_is_monotone_and_never_above_the_total(heard: tuple[Any, SelectionResult]) -> None:
    listener, result = heard

    done = [progress.pairs_done for progress in listener.seen]
    assert done == sorted(done)
    assert done[-1] == result.cost.pairs
    last = listener.seen[-1]
    assert (last.pairs_done, last.tokens_done, last.eta_seconds) == (last.pairs_total, last.tokens_total, 0.0)
    assert listener.seen[0].pairs_total >= last.pairs_total
    assert all(p.pairs_done <= p.pairs_total and p.tokens_done <= p.tokens_total for p in listener.seen)
    assert all(1 <= progress.step <= progress.steps for progress in listener.seen)
    phases = [progress.phase for progress in listener.seen]
    assert phases == sorted(phases, key=list(Phase).index)
    assert set(phases) == set(OF_A_SELECTION)


def test_best_validation_accuracy_is_shown_as_it_grows(heard: tuple[Any, SelectionResult]) -> None:
    listener, result = heard

    shown = [p.best_validation_accuracy for p in listener.seen if p.best_validation_accuracy is not None]
    assert shown == sorted(shown)
    assert all(p.best_validation_accuracy is None for p in listener.seen if p.phase is Phase.FILTER)
    assert shown[-1] > 0.5
    assert result.answer.judged is not None


@pytest.mark.parametrize("phase", OF_A_SELECTION)
def test_run_cancelled_in_any_phase_gives_the_best_so_far_or_an_error(
    phase: Phase, heard: tuple[Any, SelectionResult], select: Callable[..., SelectionResult], make_listener: Make
) -> None:
    everything, _ = heard
    stop_after = 1 + next(place for place, progress in enumerate(everything.seen) if progress.phase is phase)
    listener, outcome = make_listener(stop_after=stop_after), None

    try:
        outcome = select(listener=listener)
    except NothingSelected as nothing:
        outcome = nothing

    assert listener.seen[-1].phase is phase
    assert len(listener.seen) <= stop_after + 1
    if phase in (Phase.FILTER, Phase.INITIALISE):
        assert isinstance(outcome, NothingSelected)
        assert outcome.stop_reason == "cancelled"
    else:
        assert outcome.stop_reason is StopReason.CANCELLED
        assert len(outcome.examples) == 4
        assert outcome.partial
        assert outcome.answer.judged is not None
        assert outcome.test is None
        assert outcome.cost.pairs <= everything.seen[-1].pairs_done


def test_comparisons_not_asked_for_are_left_out(select: Callable[..., SelectionResult]) -> None:
    result = select(splits={"confirmation": 0}, comparisons="none")

    assert (result.classifier, result.random) == (None, None)
    assert "No classifier was made: the options ask for none" in result.verdict.sentence
    assert [one.method for one in result.answer.contenders] == ["lens"]
    assert result.tested == ()
    assert not result.partial
    assert result.test is not None


def test_provenance_names_model_data_and_every_option(
    whole: SelectionResult, make_config: Make, make_planted_problem: Make
) -> None:
    provenance = whole.provenance
    assert (provenance.model, provenance.revision, provenance.seed) == ("table", "0" * 64, 0)
    assert provenance.dataset_sha256 == digest_examples(make_planted_problem().examples)
    assert provenance.test_sha256 is None
    assert SelectionConfig.model_validate(provenance.config) == make_config()


def test_configuration_is_the_preset_quick_unless_given(make_planted_problem: Make, make_planted_scorer: Make) -> None:
    result = select_support_examples(make_planted_problem(count=100), make_planted_scorer())

    assert result.provenance.config == PRESETS["quick"].model_dump(mode="json")

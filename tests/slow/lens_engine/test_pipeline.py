from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lens_engine.errors import CheckpointForeign, InvalidConfig, NothingSelected
from lens_engine.model.base import ScorerIdentity
from lens_engine.model.score_cache import remember_pairs
from lens_engine.result import Contender, SelectionResult
from lens_engine.rows.dealing import deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import Checkpoint
from lens_engine.show.ways import list_ways
from lens_engine.testing import TableScorer
from lens_engine.types import Phase, StopReason
from tests.delegating import Delegating

Make = Callable[..., Any]


class PlacedScorer(Delegating):
    """A scorer that says it computes elsewhere."""

    def __init__(self, scorer: TableScorer, *, surroundings: tuple[str, ...] = (), **place: str) -> None:
        super().__init__(scorer)
        self._place, self.surroundings = place, surroundings

    @property
    def identity(self) -> ScorerIdentity:
        return replace(super().identity, **self._place)


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
def whole(select: Make) -> SelectionResult:
    return select()


@pytest.fixture(scope="module")
def watched(select: Make, make_listener: Make, make_store: Make) -> tuple[Any, Any, Any]:
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


def find(result: SelectionResult, method: str) -> Contender | None:
    """The best contender of a method for the use of the run."""
    return next((one for one in result.contenders if one.method == method and one.use in (None, "prompt")), None)


@pytest.mark.parametrize("options", [{"seed": 1}, {"filtering": {"contribution": "vocabulary"}}])
def test_planted_good_examples_are_found(options: dict[str, Any], select: Make) -> None:
    result = select(**options)

    zero_shot, random = find(result, "zero_shot"), find(result, "random")
    assert (result.answer.method, result.first) == ("lens", "prompt")
    assert result.expected is not None
    for rival in (zero_shot, random):
        assert rival is not None
        assert rival.judged is not None
        assert result.expected.accuracy > rival.judged.accuracy + 0.2
    qualities = [int(example.text.split("quality")[1].split()[0]) for example in result.examples]
    assert sum(qualities) / 4 >= 75  # of random examples: 50


def test_result_holds_every_figure_with_its_rows(whole: SelectionResult) -> None:
    assert not whole.partial
    assert whole.stop_reason is StopReason.COMPLETED
    assert [answer.use for answer in whole.support_examples] == ["prompt", "probabilities"]
    assert {one.judged.n for one in whole.contenders if one.judged and not one.is_dropped} == {60}
    assert all(one.judged.n < 60 for one in whole.contenders if one.judged and one.is_dropped)
    assert {"no examples", "random 1", "LENS 1"} <= {one.name for one in whole.contenders}
    for answer in whole.support_examples:
        assert answer.judged is not None
        assert answer.estimate is not None
        assert answer.judged.n == answer.estimate.n == 60
        assert answer.estimate.naive == answer.judged.accuracy
        assert answer.estimate.ci95[0] < answer.estimate.accuracy < answer.estimate.ci95[1]
        assert {one.rival for one in answer.estimate.beats} == {"zero_shot", "random"}
    corrected = [one for one in whole.support_examples if one.label_biases]
    assert all([bias.label for bias in one.label_biases] == ["negative", "positive"] for one in corrected)
    counts = whole.counts
    assert (counts.labelled, counts.search, counts.judging, counts.test) == (240, 60, 60, 0)
    assert not whole.answers.is_test
    assert len(whole.answers.rows) == len(whole.answers.gold) == 120
    assert all(one is None or set(one[60:]) == {None} for one in whole.answers.support_examples), "search rows"


def test_examples_are_rows_of_the_upload_in_order_and_balanced(
    whole: SelectionResult, make_planted_problem: Make, make_config: Make
) -> None:
    problem = make_planted_problem()
    rows = deal_rows(problem, make_config())

    assert [example.position for example in whole.examples] == [0, 1, 2, 3]
    for example in whole.examples:
        original = problem.examples[example.row]
        assert (example.text, example.label) == (original.text, original.label)
        assert original in rows.search
        assert example.tokens == len(problem.task.render_demonstration(original).split())
        assert example.label_word == example.label.upper()
    assert sorted(example.label for example in whole.examples) == ["negative"] * 2 + ["positive"] * 2
    assert whole.rows == tuple(example.row for example in whole.examples)


def test_resuming_from_any_checkpoint_gives_the_same_digest_and_scores_only_what_was_left(
    store: Any,
    heard: tuple[Any, SelectionResult],
    whole: SelectionResult,
    select: Make,
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
    select: Make,
    make_store: Make,
    make_planted_scorer: Make,
) -> None:
    scorer = PlacedScorer(make_planted_scorer(), **place)

    with pytest.raises(CheckpointForeign, match=message):
        select(scorer=scorer, checkpoints=make_store(saved[2]), **options)


@pytest.mark.parametrize(
    "changes",
    [
        *({name: ...} for name in ("spent", "lens", "judging", "candidates")),
        *({name: 7} for name in ("lens", "judging", "done")),
    ],
)
def test_checkpoint_whose_values_are_missing_or_of_another_form_is_foreign(
    changes: dict[str, Any], saved: list[bytes], select: Make, make_store: Make
) -> None:
    checkpoint = Checkpoint.from_bytes(saved[2])
    values = {name: value for name, value in {**checkpoint.values, **changes}.items() if value is not ...}

    with pytest.raises(CheckpointForeign, match="a form that Lens cannot read"):
        select(checkpoints=make_store(replace(checkpoint, values=values).to_bytes()))


def test_result_names_the_gpu_also_through_the_pair_cache_and_its_digest_leaves_the_name_out(
    whole: SelectionResult, select: Make, make_planted_scorer: Make, tmp_path: Path
) -> None:
    first, second = (
        PlacedScorer(make_planted_scorer(), device="cuda", surroundings=("cuda 13.0", f"GPU {name}"))
        for name in ("NVIDIA H100", "NVIDIA H200")
    )
    results = [select(scorer=remember_pairs(first, cache_dir=tmp_path)), select(scorer=second)]

    assert [result.provenance.device_name for result in results] == ["NVIDIA H100", "NVIDIA H200"]
    assert results[0].digest == results[1].digest
    assert (whole.provenance.device, whole.provenance.device_name) == ("cpu", None)


LEAST = 12
"""Pairs of one prompt on the first judging rows."""


@pytest.mark.parametrize("share", [0.05, 0.3, 0.99])
def test_budget_is_never_exceeded_and_ends_in_a_result_that_says_what_it_knows(
    share: float, whole: SelectionResult, select: Make, make_planted_scorer: Make
) -> None:
    limit = round(LEAST + share * (whole.cost.pairs - LEAST))
    scorer = make_planted_scorer()

    result = select(scorer=scorer, budget={"max_pairs": limit})

    assert scorer.num_pairs == result.cost.pairs <= limit
    assert result.partial
    assert result.stop_reason is StopReason.BUDGET
    assert any("did not cover" in warning for warning in result.warnings)
    assert result.expected is not None
    if share > 0.5:
        assert len(result.examples) == 4
        assert sorted(example.label for example in result.examples) == ["negative"] * 2 + ["positive"] * 2


def test_budget_below_the_least_is_refused_with_the_number(select: Make, make_planted_scorer: Make) -> None:
    scorer = make_planted_scorer()

    with pytest.raises(InvalidConfig, match=f"takes {LEAST}") as refusal:
        select(scorer=scorer, budget={"max_pairs": LEAST - 1})
    assert refusal.value.field == "options.budget.max_pairs"
    assert scorer.num_pairs == 0


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_budgeted_run_resumed_from_any_checkpoint_gives_the_same_digest(
    share: float, whole: SelectionResult, select: Make, make_store: Make
) -> None:
    budget, store = {"max_pairs": round(share * whole.cost.pairs)}, make_store()
    result = select(checkpoints=store, budget=budget)

    for data in store.of_each_phase():
        resumed = select(checkpoints=make_store(data), budget=budget)
        assert resumed.digest == result.digest
        assert resumed.cost.pairs == result.cost.pairs


def test_progress_is_monotone_and_never_above_the_total(heard: tuple[Any, SelectionResult]) -> None:
    listener, result = heard

    done = [progress.pairs_done for progress in listener.seen]
    assert done == sorted(done)
    assert done[-1] == result.cost.pairs
    last = listener.seen[-1]
    assert (last.pairs_done, last.tokens_done, last.eta_seconds) == (last.pairs_total, last.tokens_total, 0.0)
    totals = [progress.pairs_total for progress in listener.seen]
    assert totals == sorted(totals, reverse=True)
    ends = {(told.phase, told.step): told.pairs_total for told in listener.seen}
    assert len(set(ends.values())) > 2, "each rung that drops prompts lowers it"
    last_rung = max(step for phase, step in ends if phase is Phase.JUDGE)
    assert ends[Phase.JUDGE, last_rung] == result.cost.pairs
    assert all(p.pairs_done <= p.pairs_total and p.tokens_done <= p.tokens_total for p in listener.seen)
    assert all(1 <= progress.step <= progress.steps for progress in listener.seen)
    phases = [progress.phase for progress in listener.seen]
    assert phases == sorted(phases, key=list(Phase).index)
    assert set(phases) == {Phase.FILTER, Phase.SEARCH, Phase.JUDGE}


@pytest.mark.parametrize("phase", [Phase.FILTER, Phase.SEARCH, Phase.JUDGE])
def test_run_cancelled_in_any_phase_gives_the_best_so_far_or_an_error(
    phase: Phase, heard: tuple[Any, SelectionResult], select: Make, make_listener: Make
) -> None:
    everything, _ = heard
    later = 2 if phase is Phase.JUDGE else 1  # after the first block of prompts
    stop_after = later + next(place for place, progress in enumerate(everything.seen) if progress.phase is phase)
    listener, outcome = make_listener(stop_after=stop_after), None

    try:
        outcome = select(listener=listener)
    except NothingSelected as nothing:
        outcome = nothing

    assert listener.seen[-1].phase is phase
    assert len(listener.seen) <= stop_after + 1
    if phase is Phase.FILTER:
        assert isinstance(outcome, NothingSelected)
        assert outcome.stop_reason == "cancelled"
    else:
        assert outcome.stop_reason is StopReason.CANCELLED
        assert len(outcome.examples) == 4
        assert outcome.partial
        assert outcome.answer.test is None
        assert outcome.cost.pairs <= everything.seen[-1].pairs_done


def test_few_rows_all_judge_and_sets_are_drawn(make_planted_problem: Make, make_planted_scorer: Make) -> None:
    for count in (10, 20, 60):
        result = select_support_examples(make_planted_problem(count=count), make_planted_scorer(), progress=False)

        assert (result.counts.search, result.counts.judging) == (0, count)
        assert {one.method for one in result.contenders} >= {"zero_shot", "random", "spread", "bag_of_words"}
        shown = [one for one in result.contenders if one.rows and one.judged and not one.is_dropped]
        assert all(one.judged.n == count - len(one.rows) for one in shown if one.judged)
        assert result.expected is not None


def test_test_rows_are_asked_for_what_was_chosen_and_their_figures_come_first(
    make_planted_problem: Make, make_planted_scorer: Make, make_config: Make
) -> None:
    planted = make_planted_problem(count=300)
    test = [replace(one, row=row) for row, one in enumerate(planted.examples[240:])]
    problem = Problem(planted.task, planted.examples[:240], test)

    result = select_support_examples(problem, make_planted_scorer(), make_config(), progress=False)

    assert result.answers.is_test
    assert result.counts.test == 60
    assert result.expected is result.answer.test is not None
    assert result.answer.test.n == 60
    tested = {one.name for one in result.contenders if one.test is not None}
    assert "no examples" in tested
    assert len(tested) <= 3  # no examples, and what was chosen for each use
    hits = [
        own == gold for own, gold in zip(result.answers.support_examples[0] or (), result.answers.gold, strict=True)
    ]
    assert sum(hits) / 60 == pytest.approx(result.answer.test.accuracy)


@pytest.mark.parametrize("stop_after", [2, 6])
def test_nothing_that_was_judged_on_fewer_rows_stands_above_the_choice_of_a_stopped_run(
    stop_after: int, make_planted_problem: Make, make_planted_scorer: Make, make_listener: Make
) -> None:
    listener = make_listener(stop_after=stop_after)
    result = select_support_examples(make_planted_problem(count=91), make_planted_scorer(), listener=listener)
    rows, ways = [one.judged.n + len(one.rows) for one in result.contenders if one.judged], list_ways(result)

    assert (result.stop_reason, result.first, max(rows)) == (StopReason.CANCELLED, "words", 91)
    assert [one.is_dropped for one in result.contenders] == sorted(number < 91 for number in rows)
    assert result.classifier_estimate is not None
    assert result.classifier_estimate.n == 91, "no search has touched it"
    assert [way.title for way in ways[:2]] == ["counting words", "sentence embeddings *"]
    assert all(way.title.endswith(f" ({way.figure.n} rows)") for way in ways[2:-1])

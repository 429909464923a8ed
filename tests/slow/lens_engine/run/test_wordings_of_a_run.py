"""Templates and instructions: each contender has one, and the best prompt decides that of the run."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.errors import CheckpointForeign, InvalidVerbalizer, PromptTooLong
from lens_engine.metering import chunks
from lens_engine.model.base import Prefix
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import Checkpoint
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example, Phase

Make = Callable[..., Any]
WORDS = {"odd": "odd", "even": "even"}
TASK = Task("{text} It was {label}.", WORDS)
ASKED = Task("{text} Which: {label}.", WORDS)
TOLD = Task("{text} It was {label}.", WORDS, instruction="Say odd or even.")
BOTH = Task("{text}\nKind:{label}.", WORDS, instruction="Say odd or even.")


def understanding(prefix: Prefix, query: str, span: str) -> float:
    """The model reads the text rightly where it is told what to say, and mostly where it is asked which."""
    is_told, is_asked = prefix[:1] == ("Say odd or even.\n",), "Which:" in query or "Kind:" in query
    noise = hashed_log_prob(prefix, query, span)
    strength = 2.0 + 6.0 * is_told + 3.0 * is_asked
    return (0.0 if span.strip().removesuffix(".") == query.split()[0] else -strength) + noise


@pytest.fixture(scope="module")
def rows() -> list[Example]:
    labels = ["odd" if row % 2 else "even" for row in range(200)]
    return [Example(row, f"{label} text {row}", label) for row, label in enumerate(labels)]


@pytest.fixture(scope="module")
def select(make_config: Make, rows: list[Example]) -> Callable[..., SelectionResult]:
    def run(*others: Task, task: Task = TASK, scorer: Any = None, store: Any = None, **options: Any) -> SelectionResult:
        problem = Problem(task, rows, alternatives=others)
        return select_support_examples(
            problem, scorer or TableScorer(understanding), make_config(**options), checkpoints=store
        )

    return run


@pytest.fixture(scope="module")
def chosen(select: Make) -> SelectionResult:
    return select(ASKED, TOLD, BOTH)


def test_best_wording_is_that_of_every_prompt_of_the_result(chosen: SelectionResult) -> None:
    assert chosen.task.task().instruction == "Say odd or even."
    assert chosen.prompt.startswith("Say odd or even.\n")
    assert [(one.template, one.instruction) for one in chosen.wordings] == [
        (one.template.pattern, one.instruction) for one in (TASK, ASKED, TOLD, BOTH)
    ]
    assert {one.wording for one in chosen.contenders if one.method == "random"} >= {0, 1}
    assert {one.wording for one in chosen.contenders if one.method == "zero_shot"} == {0, 1, 2, 3}


def test_run_that_is_cut_off_after_any_phase_ends_with_the_same_digest(
    monkeypatch: pytest.MonkeyPatch, select: Make, make_store: Make, chosen: SelectionResult
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_TOKENS", {"cpu": 300})
    store, first = make_store(), TableScorer(understanding)
    assert select(ASKED, TOLD, BOTH, scorer=first, store=store).digest == chosen.digest
    phases = set()
    for data in store.of_each_phase():
        phases.add(Checkpoint.from_bytes(data).phase)
        scorer = TableScorer(understanding)
        assert select(ASKED, TOLD, BOTH, scorer=scorer, store=make_store(data)).digest == chosen.digest
        assert scorer.num_pairs < first.num_pairs
    assert {Phase.FILTER, Phase.SEARCH, Phase.JUDGE} <= phases


def test_checkpoint_of_other_wordings_is_foreign(select: Make, make_store: Make) -> None:
    store = make_store()
    select(ASKED, TOLD, store=store)
    with pytest.raises(CheckpointForeign):
        select(ASKED, BOTH, store=make_store(store.saved[-1]))


def test_alternatives_have_the_label_words_of_the_task(rows: list[Example]) -> None:
    with pytest.raises(InvalidVerbalizer, match="alternatives differ in template and instruction alone"):
        Problem(TASK, rows, alternatives=[Task("{text} {label}", {"odd": "strange", "even": "even"})])


def test_wording_that_does_not_fit_is_refused_by_its_name(select: Make) -> None:
    wordy = Task("{text} It was {label}.", WORDS, instruction="Say odd or even. " * 20)
    with pytest.raises(PromptTooLong) as refusal:
        select(TOLD, wordy, scorer=TableScorer(understanding, max_prompt_tokens=70))
    said = str(refusal.value)
    assert said.startswith("wording 3 of 3, with the template '{text} It was {label}.' and the instruction 'Say odd or")
    assert "the instruction has 80 tokens" in said
    assert said.endswith("shorten the instruction")
    assert refusal.value.field == "instruction.2"
    assert [one.detail for one in refusal.value.faults] == [said]
    with pytest.raises(PromptTooLong, match=r"^even without its text"):
        select(scorer=TableScorer(understanding, max_prompt_tokens=20))


DRAWN: dict[str, Any] = {"rows": {"search": 0}, "search": {"sets": 8, "forms": ["fixed"]}}


def test_drawn_sets_of_each_kind_and_the_rivals_stand_in_each_wording(select: Make) -> None:
    result = select(TOLD, **DRAWN)
    drawn = [(one.method, one.wording) for one in result.contenders if one.method in ("random", "spread")]
    assert set(drawn) == {(method, wording) for method in ("random", "spread") for wording in (0, 1)}
    assert result.task.instruction
    assert result.answer.estimate is not None
    chances = {one.rival: one.chance for one in result.answer.estimate.beats}
    assert chances == {"random": 0.5}  # told what to say, the model needs no examples, and no set hurts


def test_estimate_has_no_optimism_of_choosing_a_wording(make_config: Make, rows: list[Example]) -> None:
    means, scorer = [], TableScorer(hashed_log_prob)  # the model guesses
    for others in ((), (ASKED, TOLD, BOTH)):
        problem = Problem(TASK, rows[:40], alternatives=others)
        found = [select_support_examples(problem, scorer, make_config(**DRAWN, seed=seed)).answer for seed in range(8)]
        means.append(sum(one.estimate.accuracy for one in found if one.estimate is not None) / len(found))
    assert abs(means[1] - means[0]) < 0.02


def test_same_budget_goes_on_and_another_begins_again(select: Make, make_store: Make, chosen: SelectionResult) -> None:
    store, budget = make_store(), {"max_pairs": chosen.cost.pairs // 2}
    cut = select(ASKED, TOLD, BOTH, store=store, budget=budget)
    assert cut.stop_reason == "budget"
    smallest = select(**DRAWN, budget={"max_pairs": 26})
    assert smallest.answer.judged is not None
    assert not any("search" in one for one in smallest.warnings)
    assert select(ASKED, TOLD, BOTH, store=make_store(store.saved[-1]), budget=budget).digest == cut.digest
    assert select(ASKED, TOLD, BOTH, store=make_store(store.saved[-1])).digest == chosen.digest

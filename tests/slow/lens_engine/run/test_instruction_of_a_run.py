"""A run with an instruction: every prompt begins with it, it is priced and fitted, and the result holds it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lens_engine.errors import PromptTooLong
from lens_engine.model.base import Prefix
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import StatesTableScorer
from lens_engine.types import LabelLogProbs, States

Make = Callable[..., Any]
INSTRUCTION = "Is the weather positive or negative?"
OPENING = f"{INSTRUCTION}\n"
OPTIONS: dict[str, Any] = {"classifier": {"kind": "auto", "fit_rows": 60}, "search": {"iterations": 2}}


class HearingScorer(StatesTableScorer):
    """Keeps the prefixes that it is asked."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.prefixes = set[Prefix]()

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self.prefixes |= set(prefixes)
        return super().score(prefixes, queries, label_spans)

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        self.prefixes.add(prefix)
        return super().states(prefix, queries, layers)


@pytest.fixture(scope="module")
def instruct(make_planted_problem: Make) -> Callable[[str], Problem]:
    """The planted problem with this instruction."""

    def make(instruction: str) -> Problem:
        problem = make_planted_problem()
        task = problem.task
        return replace(problem, task=Task(task.template, task.verbalizer, task.separator, instruction=instruction))

    return make


@pytest.fixture(scope="module")
def run(instruct: Callable[[str], Problem], make_config: Make) -> tuple[SelectionResult, HearingScorer]:
    scorer = HearingScorer()
    return select_support_examples(instruct(INSTRUCTION), scorer, make_config(**OPTIONS)), scorer


def test_every_prompt_of_the_run_begins_with_the_instruction(run: tuple[SelectionResult, HearingScorer]) -> None:
    """Those of filtering, of the search, without demonstrations, and of the classifiers."""
    _, scorer = run
    assert {prefix[:1] for prefix in scorer.prefixes} == {(OPENING,)}
    assert {len(prefix) for prefix in scorer.prefixes} == {1, 2, 5, 33, 65}
    assert not any(INSTRUCTION in segment for prefix in scorer.prefixes for segment in prefix[1:])


def test_result_holds_the_instruction(run: tuple[SelectionResult, HearingScorer]) -> None:
    result, scorer = run
    assert result.task.instruction == INSTRUCTION
    for answer in result.support_examples:
        assert answer.prompt.startswith(OPENING)
        assert [one.tokens for one in answer.examples] == [7] * len(answer.examples)
    prompt = classifier_of_prompt(result)
    assert prompt.prompts[0].text == result.prompt
    assert prompt.tokens_held == sum(scorer.count_tokens(prompt.prompts[0].demonstrations))
    assert SelectionResult.model_validate_json(result.model_dump_json()) == result


def test_instruction_that_fills_the_context_is_refused(instruct: Callable[[str], Problem], make_config: Make) -> None:
    problem = instruct("word " * 60)
    with pytest.raises(PromptTooLong, match=r"the instruction has 60 tokens, .* at most 64, .* shorten the") as refusal:
        select_support_examples(problem, HearingScorer(max_prompt_tokens=64), make_config())
    assert refusal.value.field == "instruction"


def test_texts_are_cut_to_what_the_instruction_leaves(instruct: Callable[[str], Problem], make_config: Make) -> None:
    """Without the instruction, a prompt has 60 tokens at most; the scorer refuses a longer one than its context."""
    problem = instruct("word " * 30)
    texts = [replace(one, text=f"{one.text} {'word ' * 20}") for one in problem.examples]
    config = make_config(**OPTIONS)
    scorer = HearingScorer(max_prompt_tokens=100)
    result = select_support_examples(replace(problem, examples=texts), scorer, config)
    assert result.counts.trimmed_too_long > 0
    assert max(sum(scorer.count_tokens(prefix)) for prefix in scorer.prefixes) > 30

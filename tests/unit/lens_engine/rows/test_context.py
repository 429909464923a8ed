from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lens_engine.errors import InvalidDataset, PromptTooLong
from lens_engine.prompt.template import Task
from lens_engine.rows.context import find_bound, fit_to_context
from lens_engine.rows.dealing import DealtRows, deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.testing import TableScorer
from lens_engine.types import Example

Make = Callable[..., Any]

SPECIAL = 4  # room kept for what a tokenizer puts before a text
PLAIN_DEMONSTRATION, SPAN = 5, 1  # "text 7 It was POSITIVE." in words


def parts_of(rows: DealtRows) -> list[tuple[Example, ...]]:
    return [rows.search, rows.judging, rows.rest]


@pytest.fixture(scope="module")
def make_problem(task: Task, make_examples: Callable[..., list[Example]]) -> Callable[..., Problem]:
    """240 texts of two words, those of the rows given made longer."""

    def make(lengthened: Sequence[int] = (), num_words: int = 50) -> Problem:
        examples = make_examples({"negative": 120, "positive": 120})
        for row in lengthened:
            examples[row] = replace(examples[row], text=f"long {row} " + " ".join(["word"] * (num_words - 2)))
        return Problem(task, examples)

    return make


@pytest.fixture(scope="module")
def fit(make_config: Make) -> Callable[..., DealtRows]:
    def run(problem: Problem, max_prompt_tokens: int) -> DealtRows:
        return fit_to_context(deal_rows(problem, make_config()), TableScorer(max_prompt_tokens=max_prompt_tokens))

    return run


JUST_ENOUGH = 5 * PLAIN_DEMONSTRATION + SPAN + SPECIAL


@pytest.mark.parametrize(("long_rows", "room"), [([], JUST_ENOUGH), (range(240), 100_000)], ids=["fit", "all long"])
def test_rows_that_fit_and_texts_that_are_all_long_are_left_alone(
    long_rows: Sequence[int], room: int, make_problem: Make, fit: Make, make_config: Make
) -> None:
    problem = make_problem(long_rows, num_words=900)

    assert replace(fit(problem, room), most_tokens=None) == deal_rows(problem, make_config())


def test_trimming_keeps_every_row_and_its_beginning(
    make_problem: Make, fit: Make, make_config: Make, task: Task
) -> None:
    plain = deal_rows(make_problem(), make_config())
    long_rows = sorted(part[0].row for part in parts_of(plain))
    problem = make_problem(long_rows)

    fitted = fit(problem, 60)

    assert (fitted.skipped_too_long, fitted.trimmed_too_long) == (0, 3)
    share = (60 - SPAN - SPECIAL) // 5
    for before, after in zip(parts_of(plain), parts_of(fitted), strict=True):
        assert [e.row for e in after] == [e.row for e in before]
        for example in after:
            original = problem.examples[example.row]
            assert original.text.startswith(example.text)
            assert len(task.render_demonstration(example).split()) <= share
            if example.text != original.text:  # as long as it may be
                assert len(task.render_demonstration(example).split()) == share
    scorer = TableScorer(max_prompt_tokens=60)
    again = fit_to_context(replace(fitted, task=Task(f"{'so ' * 4}{{text}} {{label}}", task.verbalizer)), scorer)
    assert (find_bound(fitted, task, scorer), again.trimmed_too_long) == (share, 3)
    assert again.most_tokens == share - 3  # of a text, which is no shorter in a longer wording


@pytest.mark.parametrize("max_prompt_tokens", [30, 45, 60])
def test_every_prompt_fits_afterwards(max_prompt_tokens: int, make_problem: Make, fit: Make, task: Task) -> None:
    problem = make_problem(range(0, 240, 17))

    fitted = fit(problem, max_prompt_tokens)

    lengths = sorted(len(task.render_demonstration(one).split()) for one in fitted.search)
    queries = [len(task.render_query(one.text).split()) for part in parts_of(fitted)[1:] for one in part]
    assert sum(lengths[-4:]) + max(queries) + SPAN <= max_prompt_tokens


def test_template_that_leaves_no_room_is_refused(make_problem: Make, fit: Make) -> None:
    with pytest.raises(PromptTooLong, match="even without its text") as refusal:
        fit(make_problem(), 15)
    assert refusal.value.field == "template"


def test_text_far_longer_than_the_rest_does_not_hold_a_run_though_it_fits(
    make_problem: Make, fit: Make, make_config: Make, task: Task
) -> None:
    long_rows = [part[0].row for part in parts_of(deal_rows(make_problem(), make_config()))]

    fitted = fit(make_problem(long_rows, num_words=3_000), 100_000)

    assert (fitted.skipped_too_long, fitted.trimmed_too_long) == (0, 3)
    assert max(len(task.render_demonstration(one).split()) for part in parts_of(fitted) for one in part) == 256


@pytest.mark.parametrize("words", [["a"], ["lengthy-word" * 40], ["a", "lengthy-word" * 40]])
def test_cut_text_is_as_long_as_it_may_be_however_long_its_words_are(
    words: list[str], make_problem: Make, fit: Make, task: Task
) -> None:
    problem = make_problem([7])
    examples = list(problem.examples)
    examples[7] = replace(examples[7], text=" ".join(words * (3_000 // len(words))))

    fitted = fit(replace(problem, examples=examples), 100_000)

    (cut,) = (one for part in parts_of(fitted) for one in part if one.row == 7)
    assert len(task.render_demonstration(cut).split()) == 256
    assert examples[7].text.startswith(cut.text)


def test_texts_that_are_equal_after_the_cut_stay_once(make_problem: Make, fit: Make) -> None:
    problem = make_problem()
    examples = [
        replace(one, text="word " * 300 + str(one.row)) if one.row % 12 == 0 else one for one in problem.examples
    ]

    fitted = fit(replace(problem, examples=examples), 100_000)

    texts = [one.text for part in parts_of(fitted) for one in part]
    assert len(texts) == len(set(texts))
    assert fitted.skipped_too_long == 19
    assert fit_to_context(fitted, TableScorer(max_prompt_tokens=60)).skipped_too_long == 19


@pytest.mark.parametrize("alike", [2, 1], ids=["those of a label", "all"])
def test_texts_of_which_too_few_differ_after_the_cut_are_refused(alike: int, make_problem: Make, fit: Make) -> None:
    problem = make_problem()
    examples = [replace(one, text="word " * 300 + str(one.row)) for one in problem.examples if one.row % alike == 0]
    examples += [one for one in problem.examples if one.row % alike]

    with pytest.raises(InvalidDataset, match=r"rows are equal once they are cut to \d+ tokens, and too few are left"):
        fit(replace(problem, examples=examples), 60)

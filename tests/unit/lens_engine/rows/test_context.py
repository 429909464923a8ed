from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, PromptTooLong
from lens_engine.pipeline import select_support_examples
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer
from lens_engine.types import Example

MakeConfig = Callable[..., SelectionConfig]
SPECIAL = 4  # room kept for what a tokenizer puts before a text
PLAIN_DEMONSTRATION, PLAIN_QUERY, SPAN = 5, 4, 1  # "text 7 It was POSITIVE." in words


def parts_of(rows: SplitRows) -> list[tuple[Example, ...]]:
    return [rows.candidates, rows.score_set, rows.validation, rows.confirmation, rows.test]


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
def fit(make_config: MakeConfig) -> Callable[..., SplitRows]:
    def run(problem: Problem, max_prompt_tokens: int, too_long: str = "reject") -> SplitRows:
        config = make_config(too_long=too_long)
        scorer = TableScorer(max_prompt_tokens=max_prompt_tokens)
        return fit_to_context(split_examples(problem, config), scorer, config)

    return run


def longest_prompt(rows: SplitRows, task: Task, demonstrations: int = 4) -> int:
    lengths = sorted((len(task.render_demonstration(e).split()) for e in rows.candidates), reverse=True)
    queries = [len(task.render_query(e.text).split()) for part in parts_of(rows)[1:] for e in part]
    return sum(lengths[:demonstrations]) + max(queries)


JUST_ENOUGH = 4 * PLAIN_DEMONSTRATION + PLAIN_QUERY + SPAN + SPECIAL


@pytest.mark.parametrize("too_long", ["reject", "skip_example", "trim_input"])
def test_rows_that_fit_are_left_alone(
    too_long: str, make_problem: Callable[..., Problem], fit: Callable[..., SplitRows], make_config: MakeConfig
) -> None:
    problem = make_problem()

    fitted = fit(problem, JUST_ENOUGH, too_long)

    assert replace(fitted, most_tokens=None) == split_examples(problem, make_config())


def test_one_token_too_many_is_refused_with_the_numbers(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows]
) -> None:
    room = JUST_ENOUGH - SPAN - SPECIAL

    with pytest.raises(PromptTooLong, match=f"would have {room} tokens and the model takes {room - 1}") as refusal:
        fit(make_problem(), JUST_ENOUGH - 1)
    assert refusal.value.field == "options.too_long"


@pytest.mark.parametrize(("part", "named"), [(0, "row"), (2, "row"), (4, "test row")])
def test_refusal_names_a_long_row_of_any_split(
    part: int, named: str, make_problem: Callable[..., Problem], fit: Callable[..., SplitRows], make_config: MakeConfig
) -> None:
    row = parts_of(split_examples(make_problem(), make_config()))[part][0].row

    with pytest.raises(PromptTooLong, match=f"the longest example is {named} {row + 1};") as refusal:
        fit(make_problem([row]), 40)
    assert refusal.value.row == row


def test_skipping_leaves_out_and_counts_long_rows(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows], make_config: MakeConfig
) -> None:
    plain = split_examples(make_problem(), make_config())
    long_rows = {part[0].row for part in parts_of(plain)}

    fitted = fit(make_problem(sorted(long_rows)), 60, "skip_example")

    assert (fitted.skipped_too_long, fitted.trimmed_too_long) == (5, 0)
    for before, after in zip(parts_of(plain), parts_of(fitted), strict=True):
        assert [e.row for e in after] == [e.row for e in before if e.row not in long_rows]


def test_skipping_too_many_is_refused_naming_the_label(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows]
) -> None:
    every_positive = range(1, 240, 2)

    with pytest.raises(ClassTooSmall, match="'positive' is too rare"):
        fit(make_problem(every_positive), 60, "skip_example")


def test_trimming_keeps_every_row_and_its_beginning(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows], make_config: MakeConfig, task: Task
) -> None:
    plain = split_examples(make_problem(), make_config())
    long_rows = sorted(part[0].row for part in parts_of(plain))
    problem = make_problem(long_rows)

    fitted = fit(problem, 60, "trim_input")

    assert (fitted.skipped_too_long, fitted.trimmed_too_long) == (0, 5)
    share = (60 - SPAN - SPECIAL) // 5
    for before, after in zip(parts_of(plain), parts_of(fitted), strict=True):
        assert [e.row for e in after] == [e.row for e in before]
        for example in after:
            original = problem.examples[example.row]
            assert original.text.startswith(example.text)
            assert len(task.render_demonstration(example).split()) <= share
            if example.text != original.text:  # as long as it may be
                assert len(task.render_demonstration(example).split()) == share


@pytest.mark.parametrize("too_long", ["skip_example", "trim_input"])
@pytest.mark.parametrize("max_prompt_tokens", [30, 45, 60])
def test_every_prompt_fits_afterwards(
    too_long: str,
    max_prompt_tokens: int,
    make_problem: Callable[..., Problem],
    fit: Callable[..., SplitRows],
    task: Task,
) -> None:
    problem = make_problem(range(0, 240, 17))

    fitted = fit(problem, max_prompt_tokens, too_long)

    assert longest_prompt(fitted, task) + SPAN <= max_prompt_tokens


def test_template_that_leaves_no_room_is_refused(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows]
) -> None:
    with pytest.raises(PromptTooLong, match="even without its text") as refusal:
        fit(make_problem(), 15, "trim_input")
    assert refusal.value.field == "template"


@pytest.mark.parametrize(
    ("too_long", "figure"), [("skip_example", "skipped_too_long"), ("trim_input", "trimmed_too_long")]
)
def test_run_with_long_texts_reports_what_was_done_to_them(
    too_long: str, figure: str, make_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    problem = make_problem(range(0, 240, 17))

    result = select_support_examples(problem, TableScorer(max_prompt_tokens=60), make_config(too_long=too_long))

    assert getattr(result.splits, figure) == 15
    assert result.truncated_prompts == (15 if too_long == "trim_input" else 0)
    assert any(warning.startswith("15 ") for warning in result.warnings)
    assert not result.partial


@pytest.mark.parametrize(("too_long", "done"), [("trim_input", (0, 5)), ("skip_example", (5, 0)), ("reject", (0, 0))])
def test_text_far_longer_than_the_rest_does_not_hold_a_run_though_it_fits(
    too_long: str,
    done: tuple[int, int],
    make_problem: Callable[..., Problem],
    fit: Callable[..., SplitRows],
    make_config: MakeConfig,
    task: Task,
) -> None:
    long_rows = [part[0].row for part in parts_of(split_examples(make_problem(), make_config()))]
    problem = make_problem(long_rows, num_words=3_000)

    fitted = fit(problem, 100_000, too_long)

    assert (fitted.skipped_too_long, fitted.trimmed_too_long) == done
    lengths = [len(task.render_demonstration(one).split()) for part in parts_of(fitted) for one in part]
    assert max(lengths) == {"trim_input": 256, "skip_example": 5, "reject": 3_003}[too_long]


def test_texts_that_are_all_long_are_left_alone(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows], make_config: MakeConfig
) -> None:
    problem = make_problem(range(240), num_words=900)

    fitted = fit(problem, 100_000, "trim_input")

    assert replace(fitted, most_tokens=None) == split_examples(problem, make_config())


@pytest.mark.parametrize("words", [["a"], ["lengthy-word" * 40], ["a", "lengthy-word" * 40]])
def test_cut_text_is_as_long_as_it_may_be_however_long_its_words_are(
    words: list[str], make_problem: Callable[..., Problem], fit: Callable[..., SplitRows], task: Task
) -> None:
    problem = make_problem([7])
    examples = list(problem.examples)
    examples[7] = replace(examples[7], text=" ".join(words * (3_000 // len(words))))

    fitted = fit(replace(problem, examples=examples), 100_000, "trim_input")

    (cut,) = (one for part in parts_of(fitted) for one in part if one.row == 7)
    assert len(task.render_demonstration(cut).split()) == 256
    assert examples[7].text.startswith(cut.text)


def test_texts_that_are_equal_after_the_cut_stay_once(
    make_problem: Callable[..., Problem], fit: Callable[..., SplitRows]
) -> None:
    problem = make_problem()
    examples = [
        replace(one, text="word " * 300 + str(one.row)) if one.row % 12 == 0 else one for one in problem.examples
    ]

    fitted = fit(replace(problem, examples=examples), 100_000, "trim_input")

    texts = [one.text for part in parts_of(fitted) for one in part]
    assert len(texts) == len(set(texts))
    assert fitted.skipped_too_long == 19

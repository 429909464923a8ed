from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidDataset, InvalidInput, InvalidVerbalizer
from lens_engine.presets import resolve_config
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.task.template import Task
from lens_engine.types import Example

MakeExamples = Callable[..., list[Example]]
MakeConfig = Callable[..., SelectionConfig]


def parts_of(rows: SplitRows) -> dict[str, tuple[Example, ...]]:
    return {
        "candidates": rows.candidates,
        "score_set": rows.score_set,
        "validation": rows.validation,
        "confirmation": rows.confirmation,
        "test": rows.test,
    }


def count(examples: Sequence[Example]) -> Counter[str]:
    return Counter(example.label for example in examples)


@pytest.fixture(scope="module")
def problem(task: Task, make_examples: MakeExamples) -> Problem:
    return Problem(task, make_examples({"negative": 120, "positive": 120}))


@settings(deadline=None)
@given(
    negative=st.integers(40, 200),
    positive=st.integers(40, 200),
    repeated=st.integers(0, 20),
    conflicting=st.integers(0, 10),
    seed=st.integers(0, 2**40),
    balanced=st.booleans(),
    test_is_given=st.booleans(),
    most_candidates=st.none() | st.integers(20, 100),
)
def test_no_row_and_no_text_is_in_two_splits_of_any_dataset(
    task: Task,
    make_examples: MakeExamples,
    make_config: MakeConfig,
    negative: int,
    positive: int,
    repeated: int,
    conflicting: int,
    seed: int,
    balanced: bool,
    test_is_given: bool,
    most_candidates: int | None,
) -> None:
    examples = make_examples({"negative": negative, "positive": positive})
    again = [replace(example, row=len(examples) + place) for place, example in enumerate(examples[:repeated])]
    swapped = {"negative": "positive", "positive": "negative"}
    against = [
        Example(1000 + place, example.text, swapped[example.label])
        for place, example in enumerate(examples[len(examples) - conflicting :])
    ]
    test = make_examples({"negative": 30, "positive": 30}, stem="test") if test_is_given else None
    config = make_config(seed=seed, balanced=balanced, filtering={"candidates": most_candidates})

    rows = split_examples(Problem(task, [*examples, *again, *against], test), config)

    parts = parts_of(rows)
    for (one, first), (other, second) in combinations(parts.items(), 2):
        assert not {e.text for e in first} & {e.text for e in second}
        if not test_is_given or "test" not in (one, other):
            assert not {e.row for e in first} & {e.row for e in second}
    assert all(len({e.text for e in part}) == len(part) for part in parts.values())
    assert (rows.duplicates_dropped, rows.conflicting_texts) == (repeated, conflicting)
    placed = sum(len(part) for name, part in parts.items() if not (test_is_given and name == "test"))
    assert placed + rows.unused == len(examples) - conflicting
    assert [e.row for e in rows.candidates] == sorted(e.row for e in rows.candidates)


def test_seed_decides_the_rows_of_every_split(problem: Problem, make_config: MakeConfig) -> None:
    first, again, other = (split_examples(problem, make_config(seed=seed)) for seed in (1, 1, 2))

    assert first == again
    for name, part in parts_of(first).items():
        assert {e.row for e in part} != {e.row for e in parts_of(other)[name]}


@pytest.mark.parametrize(
    ("balanced", "score_set", "first"),
    [
        (True, {"negative": 8, "positive": 8}, {"negative": 2, "positive": 2}),
        (False, {"negative": 12, "positive": 4}, {"negative": 3, "positive": 1}),
    ],
)
def test_splits_are_stratified_and_the_score_set_is_balanced_if_the_selection_is(
    task: Task,
    make_examples: MakeExamples,
    make_config: MakeConfig,
    balanced: bool,
    score_set: dict[str, int],
    first: dict[str, int],
) -> None:
    problem = Problem(task, make_examples({"negative": 300, "positive": 100}))

    rows = split_examples(problem, make_config(balanced=balanced))

    assert count(rows.test) == {"negative": 45, "positive": 15}
    assert count(rows.validation) == {"negative": 15, "positive": 5}
    assert count(rows.confirmation) == {"negative": 12, "positive": 4}
    assert (count(rows.score_set), count(rows.score_set[:4])) == (score_set, first)


def test_sizes_are_those_asked_for_where_rows_suffice(problem: Problem, make_config: MakeConfig) -> None:
    rows = split_examples(problem, make_config())

    sizes = {name: len(part) for name, part in parts_of(rows).items()}
    assert sizes == {"candidates": 128, "score_set": 16, "validation": 20, "confirmation": 16, "test": 60}
    assert rows.warnings == ()
    half = split_examples(problem, make_config(splits={"test": None, "held_out_share": 0.5}))
    assert len(half.test) == 120


@given(
    counts=st.tuples(*[st.integers(60, 150)] * 3),
    size=st.integers(3, 27),  # a fifth of what 180 examples leave after the test rows; more would be cut to it
    seed=st.integers(0, 1000),
)
@settings(deadline=None)
def test_every_beginning_of_the_score_set_is_label_balanced(
    make_task: Callable[..., Task],
    make_examples: MakeExamples,
    make_config: MakeConfig,
    counts: tuple[int, int, int],
    size: int,
    seed: int,
) -> None:
    examples = make_examples(dict(zip("abc", counts, strict=True)))
    config = make_config(seed=seed, filtering={"initial_score_size": size, "max_score_size": size})

    score_set = split_examples(Problem(make_task("a", "b", "c"), examples), config).score_set

    assert len(score_set) == size
    for length in range(1, len(score_set) + 1):
        found = count(score_set[:length])
        assert max(found.values()) - min(found[label] for label in "abc") <= 1


def test_candidates_are_capped_with_the_same_number_of_each_label(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    problem = Problem(task, make_examples({"negative": 300, "positive": 100}))

    rows = split_examples(problem, make_config(filtering={"candidates": 50}))

    assert count(rows.candidates) == {"negative": 25, "positive": 25}
    assert rows.unused > 100


def test_duplicate_keeps_its_first_row(task: Task, make_examples: MakeExamples, make_config: MakeConfig) -> None:
    examples = make_examples({"negative": 120, "positive": 120})
    again = replace(examples[0], row=500, line=502, text=f"  {examples[0].text}\n")
    composed, decomposed = Example(501, "caf\u00e9", "positive"), Example(502, "cafe\u0301", "positive", 504)

    rows = split_examples(Problem(task, [*examples, again, composed, decomposed]), make_config())

    assert rows.duplicates_dropped == 2
    assert not {500, 502} & {e.row for part in parts_of(rows).values() for e in part}
    told = "2 dataset rows have the text of an earlier row and were left out ("
    assert rows.warnings == (f"{told}row 501, row 503)",)
    assert rows.notes == (f"{told}line 502, line 504)",)


def test_given_test_rows_are_the_test_rows(task: Task, make_examples: MakeExamples, make_config: MakeConfig) -> None:
    test = make_examples({"negative": 20, "positive": 20}, stem="test")
    examples = make_examples({"negative": 60, "positive": 60})

    rows = split_examples(Problem(task, examples, test), make_config())

    assert sorted(rows.test, key=lambda e: e.row) == test
    assert sum(len(part) for part in parts_of(rows).values()) == 160


def test_many_given_test_rows_are_sampled_in_proportion(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    test = make_examples({"negative": 300, "positive": 100}, stem="test")
    problem = Problem(task, make_examples({"negative": 60, "positive": 60}), test)

    assert count(split_examples(problem, make_config()).test) == {"negative": 45, "positive": 15}
    assert len(split_examples(problem, make_config(splits={"test": None})).test) == 400


def test_leaked_rows_are_dropped_and_said(task: Task, make_examples: MakeExamples, make_config: MakeConfig) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    test = [*make_examples({"negative": 20, "positive": 20}, stem="test"), replace(examples[7], row=900)]

    rows = split_examples(Problem(task, examples, test), make_config())

    assert rows.leaked_from_test == 1
    assert "1 text is in the test rows too and was left out of the dataset (row 8)" in rows.warnings
    train = {e.text for name, part in parts_of(rows).items() if name != "test" for e in part}
    assert examples[7].text not in train
    assert examples[7].text in {e.text for e in rows.test}


@pytest.mark.parametrize("more", [0, 5])
def test_test_rows_that_have_the_whole_dataset_are_said_to_be_that(
    more: int, task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    test = [*reversed(examples), *make_examples({"negative": more, "positive": more}, stem="test")]

    with pytest.raises(InvalidDataset, match="have every text of the dataset, as if both were the same file") as caught:
        split_examples(Problem(task, examples, test), make_config())

    assert caught.value.field == "test"
    assert "25% of the dataset are held out" in str(caught.value)


def test_conflict_within_the_test_rows_is_set_aside_and_named(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    torn = [Example(500, "torn", "positive"), Example(501, "torn", "negative")]
    test = [*make_examples({"negative": 20, "positive": 20}, stem="test"), *torn]

    rows = split_examples(Problem(task, make_examples({"negative": 60, "positive": 60}), test), make_config())

    assert rows.conflicting_texts == 1
    assert "1 text of the test rows has more than one label and was set aside (row 501)" in rows.warnings


@pytest.mark.parametrize(
    ("where", "error", "message", "field"),
    [
        ("dataset", InvalidVerbalizer, "'c' has a label word but no row; .* remove the label", "verbalizer.c"),
        ("test", ClassTooSmall, "'c' has no test row; add one with a text of its own", "test.label"),
    ],
)
def test_label_without_an_example_is_refused_by_name(
    where: str,
    error: type[InvalidInput],
    message: str,
    field: str,
    make_task: Callable[..., Task],
    make_examples: MakeExamples,
    make_config: MakeConfig,
) -> None:
    full = make_examples({"a": 60, "b": 60, "c": 60})
    lacking = make_examples({"a": 60, "b": 60}, stem="other")
    examples, test = (lacking, full) if where == "dataset" else (full, lacking)

    with pytest.raises(error, match=message) as refusal:
        split_examples(Problem(make_task("a", "b", "c"), examples, test), make_config())
    assert refusal.value.field == field


def test_too_few_candidates_are_refused_with_both_numbers(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    problem = Problem(task, make_examples({"negative": 10, "positive": 10}))

    with pytest.raises(InvalidDataset, match=r"\d candidates are left .* num_demonstrations \(16\)"):
        split_examples(problem, make_config(num_demonstrations=16, balanced=False))


def test_splits_with_fewer_rows_than_labels_are_warned_of(make_task: Callable[..., Task]) -> None:
    labels = [f"label {number}" for number in range(150)]
    examples = [Example(row, f"text {row}", labels[row % 150]) for row in range(900)]

    split = split_examples(Problem(make_task(*labels), examples), resolve_config("quick"))

    assert "50 of 150 labels have none of the 100 validation rows" in split.warnings
    assert "140 of 150 labels have none of the 10 score rows" in split.warnings
    assert len({example.label for example in split.test}) == 150


@pytest.mark.parametrize(
    ("keep", "demonstrations", "balanced", "is_enough"),
    [
        (3, 4, False, False),
        (4, 4, False, True),
        (2, 4, True, False),
        (3, 4, True, False),
        (4, 4, True, True),
        (5, 5, True, False),
        (6, 5, True, True),
    ],
)
def test_filter_that_keeps_too_few_for_the_quotas_is_refused(
    keep: int, demonstrations: int, balanced: bool, is_enough: bool, problem: Problem, make_config: MakeConfig
) -> None:
    config = make_config(num_demonstrations=demonstrations, balanced=balanced, filtering={"keep": keep})

    if is_enough:
        assert split_examples(problem, config).candidates
        return
    with pytest.raises(InvalidConfig, match=f"filtering.keep is {keep}") as refusal:
        split_examples(problem, config)
    assert refusal.value.field == "options.filtering.keep"


@pytest.mark.parametrize(
    ("labels", "warning"),
    [
        ("ab", "{n} demonstrations cannot be split evenly over 2 labels; quotas differ by one"),
        ("abcdefg", "a prompt of {n} demonstrations shows only some of the 7 labels"),
    ],
)
def test_demonstrations_that_labels_cannot_share_are_warned_of(
    labels: str, warning: str, make_task: Callable[..., Task], make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    problem = Problem(make_task(*labels), make_examples(dict.fromkeys(labels, 120)))

    assert warning.format(n=5) in split_examples(problem, make_config(num_demonstrations=5)).warnings


def test_small_dataset_gives_smaller_splits_with_a_warning(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    rows = split_examples(Problem(task, make_examples({"negative": 30, "positive": 30})), make_config())

    assert (len(rows.test), len(rows.validation), len(rows.confirmation)) == (15, 11, 9)
    assert rows.warnings == (
        "15 test rows instead of 60: 25 % of the dataset rows are held out",
        "11 validation rows instead of 20: the dataset is small",
        "9 confirmation rows instead of 16: the dataset is small",
        "too few test rows for a reliable accuracy: 15, fewer than 30",
    )


def test_lines_of_rows_change_neither_the_splits_nor_the_warnings_of_the_result(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples = make_examples({"negative": 120, "positive": 120})
    torn = [Example(500, "torn", "positive"), Example(501, "torn", "negative"), Example(502, "torn", "positive")]
    plain = [*examples, *torn]
    lined = [replace(example, line=example.row + 2) for example in plain]

    one, other = (split_examples(Problem(task, rows), make_config()) for rows in (plain, lined))

    assert replace(one, notes=()) == replace(other, notes=())
    assert (one.conflicting_texts, one.duplicates_dropped) == (1, 0)
    assert "torn" not in {e.text for part in parts_of(one).values() for e in part}
    assert other.notes == ("1 text of the dataset rows has more than one label and was set aside (line 502)",)


def test_digest_is_of_texts_and_labels_in_order() -> None:
    rows = [Example(0, "a", "x"), Example(1, "b", "y")]

    assert digest_examples(rows) == digest_examples([Example(5, "a", "x"), Example(3, "b", "y")])
    assert digest_examples(rows) != digest_examples(rows[::-1])
    assert digest_examples(rows) != digest_examples([Example(0, "a", "x"), Example(1, "b", "x")])
    assert digest_examples(iter(rows)) == digest_examples(rows)
    assert digest_examples([Example(0, 'a","x"]\n["b', "y")]) != digest_examples(rows)
    known = "caa4868f45e5d4760fa18bd0e6aefb0466e4e122e30e890a0d7be4d3ba2cb07b"  # sha256 of ["café","x"] and a line feed
    assert digest_examples([Example(0, "caf\u00e9", "x")]) == known


def test_shuffling_spreads_an_ordered_upload(task: Task, make_config: MakeConfig) -> None:
    ordered = [Example(row, f"text {row}", "negative" if row < 120 else "positive") for row in range(240)]

    rows = split_examples(Problem(task, ordered), make_config())

    assert np.std([e.row for e in rows.test if e.label == "negative"]) > 20


def test_rare_label_keeps_half_of_its_rows_for_demonstrations(task: Task, make_examples: MakeExamples) -> None:
    problem = Problem(task, make_examples({"negative": 970, "positive": 30}))

    rows = split_examples(problem, resolve_config("quick"))

    rare = [example for example in rows.candidates if example.label == "positive"]
    assert len(rare) >= 8
    assert any(example.label == "positive" for example in rows.score_set)


def test_rows_far_longer_than_the_rest_are_said_with_their_share_of_the_cost(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    assert not any("far longer" in one for one in split_examples(Problem(task, examples), make_config()).warnings)
    for row in (7, 11):
        examples[row] = replace(examples[row], text=f"{row} " + "word " * 1_000, line=row + 2)

    split = split_examples(Problem(task, examples), make_config())

    share = 10_005 / sum(len(one.text) for one in examples)
    (warning,) = (one for one in split.warnings if "far longer" in one)
    assert warning == (
        "2 rows have a text that is far longer than the rest: up to 5,003 characters, where half of all texts have at "
        f"most {sorted(len(one.text) for one in examples)[60]}; that is {share:.0%} of all characters, and would be as "
        "much of the cost (row 8, row 12); they are cut"
    )
    assert any("(line 9, line 13)" in note for note in split.notes)

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.errors import InvalidDataset
from lens_engine.presets import resolve_config
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.dealing import LEAST_ROWS, SEARCH_FROM, DealtRows, count_fit_rows, deal_rows, pick_fit_rows
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import Quotas
from lens_engine.types import Example

Make = Callable[..., Any]


def count(examples: Sequence[Example]) -> Counter[str]:
    return Counter(example.label for example in examples)


def parts_of(rows: DealtRows) -> dict[str, tuple[Example, ...]]:
    return {"search": rows.search, "judging": rows.judging, "rest": rows.rest, "test": rows.test}


@settings(deadline=None)
@given(
    counts=st.lists(st.integers(2, 12) | st.integers(40, 150), min_size=2, max_size=4).filter(
        lambda numbers: sum(numbers) >= LEAST_ROWS
    ),
    repeated=st.integers(0, 2),
    conflicting=st.integers(0, 10),
    seed=st.integers(0, 2**40),
    balanced=st.booleans(),
    test_is_given=st.booleans(),
    limits=st.fixed_dictionaries({"search": st.integers(0, 200), "judging": st.integers(10, 200)}),
)
def test_every_usable_row_of_any_dataset_does_one_thing(
    make_task: Make,
    make_examples: Make,
    make_config: Make,
    counts: list[int],
    repeated: int,
    conflicting: int,
    seed: int,
    balanced: bool,
    test_is_given: bool,
    limits: dict[str, int],
) -> None:
    by_label = dict(zip("abcd", counts, strict=False))
    task, examples = make_task(*by_label), make_examples(by_label)
    again = [replace(example, row=1000 + place) for place, example in enumerate(examples[:repeated])]
    torn = [Example(2000 + 2 * place + at, f"torn {place}", "ab"[at]) for place in range(conflicting) for at in (0, 1)]
    test = make_examples(dict.fromkeys(by_label, 15), stem="test") if test_is_given else None
    rows = deal_rows(
        Problem(task, [*examples, *again, *torn], test), make_config(seed=seed, balanced=balanced, rows=limits)
    )
    number = len(examples)
    assert sorted(rows.labelled, key=lambda one: one.row) == examples
    assert rows.labelled == (*rows.judging, *rows.search, *rows.rest)
    assert rows.proposable == (rows.search or rows.judging)
    assert bool(rows.search) == (number >= SEARCH_FROM and limits["search"] > 1)
    assert len(rows.search) <= limits["search"]
    least = min(limits["judging"], number // 2 if rows.search else number)
    assert least <= len(rows.judging) <= max(least, limits["judging"])
    assert sorted(rows.test, key=lambda one: one.row) == (test or [])
    assert (rows.duplicates_dropped, rows.conflicting_texts) == (repeated, conflicting)
    shown = rows.quotas.by_label or {}
    held = count(rows.proposable)
    assert all(shown[label] <= max(held[label] // 2, 1) for label in shown)


@pytest.mark.parametrize("balanced", [False, True])
def test_every_beginning_of_search_and_judging_rows_has_the_labels_in_proportion(
    balanced: bool, task: Task, make_examples: Make, make_config: Make
) -> None:
    problem = Problem(task, make_examples({"negative": 300, "positive": 100}))
    rows = deal_rows(problem, make_config(balanced=balanced))
    assert (count(rows.search), count(rows.judging)) == (2 * ({"negative": 45, "positive": 15},))
    for part in (rows.search, rows.judging):
        for end in range(1, len(part)):
            assert floor(end / 4) <= count(part[:end])["positive"] <= floor(end / 4) + 1


@pytest.mark.parametrize(("number", "sizes"), [(99, (0, 99, 0)), (100, (50, 50, 0)), (900, (400, 240, 260))])
def test_sizes_by_the_number_of_rows(number: int, sizes: tuple[int, ...], make_planted_problem: Make) -> None:
    rows = deal_rows(make_planted_problem(number), resolve_config())
    assert (len(rows.search), len(rows.judging), len(rows.rest)) == sizes
    assert not deal_rows(make_planted_problem(number), resolve_config("quick", {"rows.search": 1})).search


def test_seed_decides_the_rows_of_every_part(problem: Problem, make_config: Make) -> None:
    first, again, other = (deal_rows(problem, make_config(seed=seed)) for seed in (1, 1, 2))
    assert first == again
    for part in ("search", "judging", "rest"):
        assert set(getattr(first, part)) != set(getattr(other, part))


@pytest.mark.parametrize(
    ("counts", "usable"), [({"negative": 4, "positive": 5}, 9), ({"negative": 2, "positive": 2}, 4)]
)
def test_fewer_than_ten_rows_are_refused_with_both_numbers(
    counts: dict[str, int], usable: int, task: Task, make_examples: Make, make_config: Make
) -> None:
    with pytest.raises(InvalidDataset, match=rf"^the dataset has {usable} usable rows; the least is 10, two of each"):
        deal_rows(Problem(task, make_examples(counts)), make_config())
    enough = deal_rows(Problem(task, make_examples({"negative": 2, "positive": 8})), make_config())
    assert (len(enough.judging), enough.quotas.by_label) == (10, {"negative": 1, "positive": 3})
    assert enough.warnings == ("10 labelled rows are few: what to expect of new texts is known roughly",)


def test_duplicate_keeps_its_first_row(task: Task, make_examples: Make, make_config: Make) -> None:
    examples = make_examples({"negative": 120, "positive": 120})
    again = replace(examples[0], row=500, line=502, text=f"  {examples[0].text}\n")
    composed, decomposed = Example(501, "caf\u00e9", "positive"), Example(502, "cafe\u0301", "positive", 504)
    rows = deal_rows(Problem(task, [*examples, again, composed, decomposed]), make_config())
    assert rows.duplicates_dropped == 2
    assert not {500, 502} & {example.row for example in rows.labelled}
    told = "2 dataset rows have the text of an earlier row and were left out ("
    assert rows.warnings == (f"{told}row 501, row 503)",)
    assert rows.notes == (f"{told}line 502, line 504)",)


@pytest.mark.parametrize(("most", "expected"), [(60, {"negative": 45, "positive": 15}), (None, None)])
def test_many_test_rows_are_sampled_in_proportion(
    most: int | None, expected: dict[str, int] | None, task: Task, make_examples: Make, make_config: Make
) -> None:
    test = make_examples({"negative": 300, "positive": 100}, stem="test")
    problem = Problem(task, make_examples({"negative": 60, "positive": 60}), test)
    assert count(deal_rows(problem, make_config(rows={"test": most})).test) == (expected or count(test))


def test_leaked_and_torn_rows_are_dropped_and_said(task: Task, make_examples: Make, make_config: Make) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    torn = [Example(500, "torn", "positive"), Example(501, "torn", "negative")]
    test = [*make_examples({"negative": 20, "positive": 20}, stem="test"), replace(examples[7], row=900), *torn]
    rows = deal_rows(Problem(task, examples, test), make_config())
    assert (rows.leaked_from_test, rows.conflicting_texts) == (1, 1)
    assert "1 text is in the test rows too and was left out of the dataset (row 8)" in rows.warnings
    assert "1 text of the test rows has more than one label and was set aside (row 501)" in rows.warnings
    assert examples[7].text not in {example.text for example in rows.labelled}
    assert examples[7].text in {example.text for example in rows.test}


@pytest.mark.parametrize("more", [0, 5])
def test_test_rows_that_are_the_dataset_are_said(more: int, task: Task, make_examples: Make, make_config: Make) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    test = [*reversed(examples), *make_examples({"negative": more, "positive": more}, stem="test")]
    with pytest.raises(InvalidDataset, match="have every text of the dataset, as if both were the same file") as caught:
        deal_rows(Problem(task, examples, test), make_config())
    assert caught.value.field == "test"
    assert "then every row is judged by cross-validation" in str(caught.value)


def test_lines_of_rows_change_neither_parts_nor_warnings(task: Task, make_examples: Make, make_config: Make) -> None:
    examples = make_examples({"negative": 120, "positive": 120})
    torn = [Example(500, "torn", "positive"), Example(501, "torn", "negative"), Example(502, "torn", "positive")]
    plain = [*examples, *torn]
    lined = [replace(example, line=example.row + 2) for example in plain]
    one, other = (deal_rows(Problem(task, rows), make_config()) for rows in (plain, lined))
    assert replace(one, notes=()) == replace(other, notes=())
    assert "torn" not in {example.text for part in parts_of(one).values() for example in part}
    assert other.notes == ("1 text of the dataset rows has more than one label and was set aside (line 502)",)


def test_labels_without_a_demonstration_are_warned_of(make_task: Make, make_examples: Make, make_config: Make) -> None:
    problem = Problem(make_task(*"abcdefg"), make_examples(dict.fromkeys("abcdefg", 40)))
    rows = deal_rows(problem, make_config(num_demonstrations=5))
    assert rows.warnings == ("a set of 5 demonstrations shows only some of the 7 labels",)


def test_rows_far_longer_than_others_are_said_with_costs(task: Task, make_examples: Make, make_config: Make) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    assert deal_rows(Problem(task, examples), make_config()).warnings == ()
    for row in (7, 11):
        examples[row] = replace(examples[row], text=f"{row} " + "word " * 1_000, line=row + 2)
    rows = deal_rows(Problem(task, examples), make_config())
    share = 10_005 / sum(len(one.text) for one in examples)
    (warning,) = (one for one in rows.warnings if "far longer" in one)
    assert warning == (
        "2 rows have a text that is far longer than the rest: up to 5,003 characters, where half of all texts have at "
        f"most {sorted(len(one.text) for one in examples)[60]}; that is {share:.0%} of all characters, and would be as "
        "much of the cost (row 8, row 12); they are cut"
    )
    assert any("(line 9, line 13)" in note for note in rows.notes)


PARTS = ("judging", "search", "rest", "test")


def make_rows(labels: str = "ab", **sizes: int) -> DealtRows:
    """Parts of these sizes, with the labels in turn; rows are numbered through all parts."""
    parts, row = dict[str, tuple[Example, ...]](), 0
    for name in PARTS:
        size = sizes.get(name, 0)
        parts[name] = tuple(Example(at, f"{name} {at}", labels[at % len(labels)]) for at in range(row, row + size))
        row += size
    return DealtRows(
        task=Task(Template("{text} {label}"), Verbalizer({label: label.upper() for label in labels})),
        quotas=Quotas(2, None),
        duplicates_dropped=0,
        conflicting_texts=0,
        leaked_from_test=0,
        warnings=(),
        **parts,
    )


@given(
    sizes=st.fixed_dictionaries({name: st.integers(0, 12) for name in PARTS}),
    labels=st.sampled_from(["ab", "aaab", "abcde"]),
    total=st.integers(0, 70),
    demonstrations=st.integers(0, 12),
)
def test_rows_picked_are_counted_and_none_is_a_demonstration_or_a_test_row(
    sizes: dict[str, int], labels: str, total: int, demonstrations: int
) -> None:
    rows = make_rows(labels, **sizes)
    used = {example.row for example in rows.labelled[:demonstrations]}
    everything, picked = pick_fit_rows(rows, (), total), pick_fit_rows(rows, used, total)
    assert count_fit_rows(rows, total) == len(everything) == len(set(everything)) >= len(picked) == len(set(picked))
    assert not (used | {example.row for example in rows.test}) & {example.row for example in picked}

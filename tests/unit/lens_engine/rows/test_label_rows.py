"""Labels with too few rows: what is refused, and the task without them."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidDataset, InvalidInput, InvalidVerbalizer
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows import cleaning
from lens_engine.rows.cleaning import count_near
from lens_engine.rows.dealing import DealtRows, deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.types import Example

Make = Callable[..., Any]
MORE = [Example(500 + row, "the same", "b") for row in range(3)]


@pytest.fixture(scope="module")
def deal(make_task: Make, make_examples: Make, make_config: Callable[..., SelectionConfig]) -> Make:
    """Deal rows of these labels; `labels` are those that have a label word."""

    def run(
        counts: dict[str, int], *, rare: str = "reject", labels: str = "", more: Any = (), **test: int
    ) -> DealtRows:
        task, given = make_task(*(labels or counts)), make_examples(test, stem="test") if test else None
        return deal_rows(Problem(task, [*make_examples(counts), *more], given), make_config(labels={"rare": rare}))

    return run


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"counts": {"a": 90, "b": 0}, "more": MORE}, ClassTooSmall, "'b' has 3 rows, 1 of them with a text of the"),
        ({"counts": {"a": 90, "b": 1}}, ClassTooSmall, "'b' has 1 row; the minimum is 2 rows per label: one to show"),
        ({"counts": {"a": 90, "b": 90}, "labels": "abc"}, InvalidVerbalizer, "'c' has a label word but no row; "),
        (
            {"counts": {"a": 90, "b": 90, "c": 3}, "labels": "ab"},
            InvalidDataset,
            "3 rows have the label 'c' .*no label",
        ),
        ({"counts": {"a": 90, "b": 1}, "rare": "drop"}, ClassTooSmall, "fewer than two labels would be left"),
        (
            {"counts": {"a": 90, "b": 1, "c": 90, "d": 1}},
            ClassTooSmall,
            "^2 faults; .*'b' has 1 row; .* set options.labels.rare to \"drop\" to leave out 2 of 4 labels",
        ),
        (
            {"counts": {"a": 90, "b": 90, "c": 9}, "labels": "ab", "rare": "drop"},
            InvalidDataset,
            "9 rows have the label",
        ),
    ],
)
def test_label_is_refused_by_name(given: dict[str, Any], error: type[InvalidInput], message: str, deal: Make) -> None:
    with pytest.raises(error, match=message) as refusal:
        deal(**given)
    assert refusal.value.field in {"dataset.label", "verbalizer.c"}
    assert ("drop" in str(refusal.value)) == ("'c' has a" in message or "to leave out" in message)


@pytest.mark.parametrize("labels", ["ab", "abcd", "abcdefghij"])
def test_two_rows_of_each_label_and_ten_in_all_are_enough(labels: str, deal: Make) -> None:
    rows = deal({"a": 8} | dict.fromkeys(labels[1:], 2))

    assert rows.task.labels == tuple(labels)
    assert len(rows.judging) == 8 + 2 * (len(labels) - 1)


@pytest.mark.parametrize("labels", ["abc", "ac"], ids=["with a label word", "without one"])
def test_dropped_label_is_out_of_rows_and_task(labels: str, deal: Make) -> None:
    rows = deal({"a": 90, "b": 1, "c": 90}, labels=labels, rare="drop", a=30, b=9, c=30)

    assert rows.task.verbalizer.words == {"a": "A", "c": "C"}
    assert {example.label for example in (*rows.labelled, *rows.test)} == {"a", "c"}
    assert (len(rows.labelled), len(rows.test), rows.left_out) == (180, 60, ("b",))
    assert "the label 'b' was dropped: only 1 row and 9 test rows" in rows.warnings


def test_label_that_is_in_the_test_rows_alone_is_dropped_too(deal: Make) -> None:
    rows = deal({"a": 60, "b": 60}, rare="drop", a=9, b=9, c=1)

    assert "the label 'c' was dropped: only 0 rows and 1 test row" in rows.warnings


def test_text_that_also_has_a_rare_label_is_set_aside(deal: Make) -> None:
    rows = deal({"a": 60, "b": 60}, more=[Example(200, "text 0", "odd")], rare="drop")

    assert rows.conflicting_texts == 1


LABELS = ("café", "delivery")


@pytest.fixture(scope="module")
def desk(make_task: Make) -> Task:
    return make_task(*LABELS)


def make_rows(renamed: dict[int, str], stem: str = "text") -> list[Example]:
    """240 rows with the two labels in turn; `renamed` gives rows another label. Row 0 is on line 2."""
    rows = [Example(row, f"{stem} {row}", LABELS[row % 2], row + 2) for row in range(240)]
    return [replace(example, label=renamed.get(example.row, example.label)) for example in rows]


def count_used(rows: DealtRows) -> Counter[str]:
    return Counter(example.label for example in (*rows.labelled, *rows.test))


@pytest.mark.parametrize(
    "spelling", ["Café", "café ", "\u00a0café", "cafe\u0301", " CAFE\u0301\t"], ids=lambda one: ascii(one)
)
def test_spelling_is_read_as_the_label_of_the_verbalizer(desk: Task, make_config: Make, spelling: str) -> None:
    rows = deal_rows(Problem(desk, make_rows(dict.fromkeys(range(0, 240, 4), spelling))), make_config())

    plain = deal_rows(Problem(desk, make_rows({})), make_config())
    assert count_used(rows) == count_used(plain)
    assert replace(rows, warnings=(), notes=()) == replace(plain, warnings=(), notes=())


def test_joined_spellings_are_counted_in_a_warning_for_each_upload(desk: Task, make_config: Make) -> None:
    odd = dict.fromkeys(range(0, 20, 2), "Café") | dict.fromkeys((40, 42), "café ") | {3: "Delivery"}

    rows = deal_rows(Problem(desk, make_rows(odd), make_rows({1: "DELIVERY"}, "test")), make_config())

    assert rows.warnings[:2] == (
        "13 dataset rows have another spelling of a label and are read so: 'Café' (10), 'café ' (2) as 'café'; "
        "'Delivery' (1) as 'delivery' (to keep them apart, set options.labels.join_spellings to false)",
        "1 test row has another spelling of a label and is read so: 'DELIVERY' (1) as 'delivery' "
        "(to keep them apart, set options.labels.join_spellings to false)",
    )


def test_spellings_are_kept_apart_where_the_option_says_so(make_config: Make) -> None:
    task = Task(Template("{text} {label}"), Verbalizer({"café": "Place", "Café": "Bar", "delivery": "Parcel"}))
    problem = Problem(task, make_rows(dict.fromkeys(range(0, 240, 4), "Café")))

    rows = deal_rows(problem, make_config(num_demonstrations=3, labels={"join_spellings": False}))
    assert count_used(rows)["Café"] == 60
    with pytest.raises(InvalidVerbalizer, match=r"'café' and 'Café' .* one label; .*join_spellings to false") as caught:
        deal_rows(problem, make_config(num_demonstrations=3))
    assert caught.value.field == "verbalizer.Café"


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("tea", "the label 'tea' (the first: line 6), which has no label word; add the label to the verbalizer"),
        (" \t", "no label (the first: line 6); give each row a label, or leave the row out"),
    ],
)
def test_label_without_word_is_refused_with_rows(desk: Task, make_config: Make, label: str, message: str) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        deal_rows(Problem(desk, make_rows({4: label, 8: label})), make_config())

    assert str(refusal.value) == f"2 rows have {message}"
    assert (refusal.value.field, refusal.value.row) == ("dataset.label", 4)


def test_unknown_labels_of_both_uploads_are_in_one_refusal(desk: Task, make_config: Make) -> None:
    problem = Problem(desk, make_rows({4: "tea", 5: "x"}), make_rows({7: "tea"}, "test"))

    with pytest.raises(InvalidDataset) as refusal:
        deal_rows(problem, make_config())

    found = refusal.value.problems
    assert [(one.field, one.row) for one in found] == [("dataset.label", 4), ("dataset.label", 5), ("test.label", 7)]
    assert "1 test row has the label 'tea' (line 9), which has no label word; add the label" in found[2].detail


def test_label_of_test_rows_alone_is_left_out_or_given_rows(desk: Task, make_config: Make) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        deal_rows(Problem(desk, make_rows({}), make_rows({7: "tea", 8: "tea"}, "test")), make_config())
    assert str(refusal.value) == (
        "2 test rows have the label 'tea' (the first: line 9), which no row of the dataset has; leave the rows out, or "
        "add labelled rows of it to the dataset"
    )


WORDS = ("parcel", "money", "card", "late", "lost", "is", "my", "the", "where", "again", "please", "today")
LONG = " ".join(f"word{number}" for number in range(200))


def make_examples(*rows: tuple[str, str]) -> list[Example]:
    return [Example(row, text, label) for row, (text, label) in enumerate(rows)]


def make_similar(number: int) -> list[Example]:
    """Short texts of few words, of which many differ by one word or one letter."""
    draw = random.Random(0)
    texts = dict[str, None]()
    while len(texts) < number:
        words = draw.choices(WORDS, k=draw.randint(1, 9))
        texts[" ".join(words)] = None
        words[draw.randrange(len(words))] = draw.choice(WORDS)
        texts[" ".join(words)] = None
        texts[" ".join(words) + "!"] = None
    return make_examples(*((text, draw.choice("abc")) for text in texts))


def similarity(one: str, other: str) -> float:
    first, second = ({text[at : at + 5] for at in range(max(len(text) - 4, 1))} for text in (one, other))
    return len(first & second) / (len(first) * len(second)) ** 0.5


@pytest.mark.parametrize(("bound", "value"), [("_MOST_CHARACTERS", 2_000), ("_MOST_COMPARISONS", 10_000)])
def test_of_too_much_a_sample_is_compared(bound: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = make_similar(400)
    monkeypatch.setattr(cleaning, bound, value)

    found = count_near(examples, examples)

    assert 50 < found <= 100
    assert found == count_near(examples, examples)


@pytest.mark.parametrize(
    ("one", "other", "is_near"),
    [
        ("Where is my parcel?", "where  is my PARCEL?", 1),
        ("Where is my parcel?", "Where is my parcel ?", 1),
        ("a", "b", 0),
        ("", "a", 0),
        (LONG, f"{LONG}!", 1),
        (LONG, LONG[:400] + "another end " * 60, 0),
    ],
)
def test_case_and_spaces_are_no_difference_and_long_texts_are_compared(one: str, other: str, is_near: int) -> None:
    assert count_near(make_examples((one, "a")), make_examples((other, "b"))) == is_near


def test_test_rows_that_are_nearly_equal_to_others_are_counted_once_each() -> None:
    examples = make_similar(300)
    test, others = examples[:60], examples[60:]
    near = [one for one in test if any(similarity(one.text, other.text) >= 0.85 for other in others)]
    assert 0 < len(near) < len(test)
    assert count_near(test, others) == len(near)
    assert count_near(test, []) == count_near([], others) == count_near([], []) == 0

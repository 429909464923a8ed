"""The report on a dataset."""

from lens_engine.rows.report import DatasetReport, describe_dataset
from lens_engine.types import Example


def describe(*rows: tuple[str, str]) -> DatasetReport:
    return describe_dataset([Example(row, text, label) for row, (text, label) in enumerate(rows)])


def test_labels_are_counted_the_most_frequent_first_and_spellings_together() -> None:
    report = describe(("1", "b"), ("2", "pay"), ("3", "Pay "), ("4", "a"), ("5", "pay"))

    assert report.rows == 5
    assert [(one.label, one.rows) for one in report.labels] == [("pay", 3), ("a", 1), ("b", 1)]
    [joined] = report.joined_labels
    assert joined.label == "pay"
    assert [(one.label, one.rows) for one in joined.spellings] == [("pay", 2), ("Pay ", 1)]


def test_repeated_texts_are_counted_in_the_form_of_a_run() -> None:
    report = describe(("café", "a"), (" cafe\u0301 ", "a"), ("café", "b"), ("Café", "a"), ("tea", "b"))

    assert report.duplicates == 3


def test_text_with_several_labels_is_shown_with_the_rows_of_each() -> None:
    report = describe(("late", "pay"), ("lost", "b"), (" LA\u00adte", "ship"), ("late", "Ship"), ("lost", "B"))

    assert report.conflicts.total == 1
    [conflict] = report.conflicts.texts
    assert conflict.text == "late"
    assert [(one.label, one.rows, one.first_rows) for one in conflict.labels] == [("Ship", 2, (2, 3)), ("pay", 1, (0,))]


def test_only_the_first_conflicts_and_rows_are_listed() -> None:
    report = describe(*((f"text {number}", label) for number in range(101) for label in "ab" * 11))

    assert report.conflicts.total == 101
    assert len(report.conflicts.texts) == 100
    first = report.conflicts.texts[0].labels[0]
    assert (first.rows, first.first_rows) == (11, tuple(range(0, 20, 2)))


def test_lengths_are_of_all_rows_and_tokens_only_with_a_tokenizer() -> None:
    examples = [Example(row, "ab " * row + "ab", "a") for row in range(100)]

    report = describe_dataset(examples, lambda texts: [len(text.split()) for text in texts], warnings=("a warning",))

    assert report.characters.model_dump() == {"mean": 150.5, "median": 150.5, "p95": 284.15, "max": 299}
    assert report.tokens is not None
    assert report.tokens.model_dump() == {"mean": 50.5, "median": 50.5, "p95": 95.05, "max": 100}
    assert report.warnings == ("a warning",)
    assert describe_dataset(examples).tokens is None


def test_labels_are_counted_in_all_rows_and_the_rest_in_the_sample() -> None:
    examples = [Example(3, "a film", "Good"), Example(7, "a film", "good"), Example(9, "a play", "bad")]
    report = describe_dataset(examples, counts={"Good": 600, "good": 200, "bad": 200})
    assert (report.rows, report.sample_rows, report.duplicates) == (1000, 3, 1)
    assert [(one.label, one.rows) for one in report.labels] == [("Good", 800), ("bad", 200)]
    [joined] = report.joined_labels
    assert [(one.label, one.rows) for one in joined.spellings] == [("Good", 600), ("good", 200)]

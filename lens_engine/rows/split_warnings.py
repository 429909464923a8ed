"""Warnings about rows that were left out, and about small splits."""

from collections.abc import Sequence

from lens_engine.config import SelectionConfig
from lens_engine.rows.cleaning import CleanExamples, list_rows
from lens_engine.rows.split_sizes import SplitSizes
from lens_engine.task.wording import show_count
from lens_engine.types import Example

_FEW_TEST_ROWS, _FEW_VALIDATION_ROWS = 30, 10
"""Fewer rows than these are warned of."""


def warn_of_texts(train: CleanExamples, test: CleanExamples, leaked: Sequence[Example], *, lines: bool) -> list[str]:
    """Warnings about repeated texts, texts with several labels, and texts in both uploads.

    Args:
        lines: whether a row is named with its line in the file.
    """
    warnings = list[str]()
    for name, cleaned in (("dataset", train), ("test", test)):
        if cleaned.duplicates:
            warnings.append(
                f"{show_count(len(cleaned.duplicates), f'{name} row', 'has')} the text of an earlier row and "
                f"{_was(cleaned.duplicates)} left out ({_first(cleaned.duplicates, lines=lines)})"
            )
        if cleaned.conflicts:
            warnings.append(
                f"{show_count(len(cleaned.conflicts), 'text')} of the {name} rows "
                f"{'has' if len(cleaned.conflicts) == 1 else 'have'} more than one label and {_was(cleaned.conflicts)} "
                f"set aside ({_first(cleaned.conflicts, lines=lines)})"
            )
    if leaked:
        warnings.append(
            f"{show_count(len(leaked), 'text', 'is')} in the test rows too and {_was(leaked)} left out of the dataset "
            f"({_first(leaked, lines=lines)})"
        )
    return warnings


def warn_of_sizes(sizes: SplitSizes, config: SelectionConfig, *, is_held_out: bool) -> list[str]:
    """Warnings about splits that are smaller than asked for, small, or without some labels.

    Args:
        is_held_out: whether the test rows are held out of the dataset.
    """
    warnings, splits = list[str](), config.splits
    test, validation, confirmation = (
        sum(counts.values()) for counts in (sizes.test, sizes.validation, sizes.confirmation)
    )
    if is_held_out and splits.test is not None and test < splits.test:
        warnings.append(
            f"{show_count(test, 'test row')} instead of {splits.test}: {100 * splits.held_out_share:.0f} % of the "
            "dataset rows are held out"
        )
    for name, wanted, found in (
        ("validation", splits.validation, validation),
        ("confirmation", splits.confirmation, confirmation),
    ):
        if found < wanted:
            warnings.append(f"{show_count(found, f'{name} row')} instead of {wanted}: the dataset is small")
    for name, found, few, use in (
        ("test", test, _FEW_TEST_ROWS, "the accuracies of the report"),
        ("validation", validation, _FEW_VALIDATION_ROWS, "the choice of a prompt"),
    ):
        if found < few:
            warnings.append(f"{use} will say little: there are {show_count(found, f'{name} row')}, fewer than {few}")
    num_labels = len(sizes.candidates)
    for name, counts in sizes.with_every_label.items():
        missing = sum(not count for count in counts.values())
        if missing:
            warnings.append(
                f"{missing} of {num_labels} labels have none of the {show_count(sum(counts.values()), f'{name} row')}"
            )
    return warnings + _warn_of_balance(num_labels, config)


def _warn_of_balance(num_labels: int, config: SelectionConfig) -> list[str]:
    n = config.num_demonstrations
    if n < num_labels:
        return [f"a prompt of {show_count(n, 'demonstration')} shows only some of the {num_labels} labels"]
    if config.balanced and n % num_labels:
        return [
            f"{show_count(n, 'demonstration')} cannot be split evenly over {num_labels} labels; quotas differ by one"
        ]
    return []


def _first(rows: Sequence[Example], *, lines: bool) -> str:
    return f"{'row' if len(rows) == 1 else 'first rows'}: {list_rows(rows, lines=lines)}"


def _was(rows: Sequence[Example]) -> str:
    return "was" if len(rows) == 1 else "were"

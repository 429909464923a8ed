"""Warnings about rows that were joined or left out, and about few rows."""

from collections.abc import Iterator, Sequence

from lens_engine.rows.cleaning import CleanProblem, CleanRows
from lens_engine.rows.label_rows import ServedTask
from lens_engine.rows.quotas import Quotas
from lens_engine.task.text_checks import show_places
from lens_engine.task.wording import show_count, show_label
from lens_engine.types import Example, name_place

_MAX_LISTED = 10
_FAR = 4
"""A text is far longer than the rest if it is longer than this many times the text that nine tenths do not exceed."""
_FAR_CHARACTERS = 1_000
_FEW_ROWS = 50  #: fewer labelled rows than these are warned of


def warn_of_rows(
    rows: CleanProblem, served: ServedTask, quotas: Quotas, num_rows: int, *, lines: bool
) -> Iterator[str]:
    """Warnings about what was joined or left out, about dropped labels, and about few rows.

    Args:
        num_rows: number of usable rows.
        lines: whether a row is named by its line in the file.
    """
    for name, upload in rows.uploads.items():
        if upload.respelled:
            yield _describe_joined(upload, name)
        if upload.duplicates:
            has = show_count(len(upload.duplicates), f"{name} row", "has")
            yield f"{has} the text of an earlier row and {_was(upload.duplicates, 'left out', lines=lines)}"
        if upload.conflicts:
            have = "has" if len(upload.conflicts) == 1 else "have"
            yield (
                f"{show_count(len(upload.conflicts), 'text')} of the {name} rows {have} more than one label and "
                f"{_was(upload.conflicts, 'set aside', lines=lines)}"
            )
    if rows.leaked:
        left_out = _was(rows.leaked, "left out of the dataset", lines=lines)
        yield f"{show_count(len(rows.leaked), 'text', 'is')} in the test rows too and {left_out}"
    yield from _warn_of_length(rows, lines=lines)
    for label in served.dropped:
        rows_of_label = [
            show_count(upload.uploaded[label], "row" if name == "dataset" else "test row")
            for name, upload in rows.uploads.items()
        ]
        yield f"the label {show_label(label)} was dropped: only {' and '.join(rows_of_label)}"
    if num_rows < _FEW_ROWS:
        yield f"{show_count(num_rows, 'labelled row', 'is')} few: what to expect of new texts is known roughly"
    num_labels, n = len(served.task.labels), quotas.num_demonstrations
    if n < num_labels:
        yield f"a set of {show_count(n, 'demonstration')} shows only some of the {num_labels} labels"


def find_far_length(lengths: Sequence[int], least: int) -> int:
    """Largest length of a text that is not far longer than the rest, and at least `least`.

    Args:
        lengths: of all texts, ascending.
    """
    return max(_FAR * lengths[len(lengths) * 9 // 10], least) if lengths else least


def _warn_of_length(rows: CleanProblem, *, lines: bool) -> Iterator[str]:
    """The rows that are far longer than the rest, and their share of the cost, which grows with the length."""
    examples = [example for upload in rows.uploads.values() for example in upload.examples]
    lengths = sorted(len(example.text) for example in examples)
    bound = find_far_length(lengths, _FAR_CHARACTERS)
    far = [example for example in examples if len(example.text) > bound]
    if far:
        share = sum(len(example.text) for example in far) / sum(lengths)
        yield (
            f"{show_count(len(far), 'row', 'has')} a text that is far longer than the rest: up to {lengths[-1]:,} "
            f"characters, where half of all texts have at most {lengths[len(lengths) // 2]:,}; that is {share:.0%} of "
            f"all characters, and would be as much of the cost ({_first(far, lines=lines)}); they are cut"
        )


def _describe_joined(upload: CleanRows, name: str) -> str:
    """Each spelling with its number of rows, and the label under which it goes."""
    number = sum(spellings.total() for spellings in upload.respelled.values())
    joined = list[str]()
    for label, spellings in list(upload.respelled.items())[:_MAX_LISTED]:
        written = [f"{show_label(spelling)} ({rows:,})" for spelling, rows in spellings.most_common(_MAX_LISTED)]
        more = ["…"] * (len(spellings) > _MAX_LISTED)
        joined.append(f"{', '.join([*written, *more])} as {show_label(label)}")
    joined += ["…"] * (len(upload.respelled) > _MAX_LISTED)
    return (
        f"{show_count(number, f'{name} row', 'has')} another spelling of a label and {'is' if number == 1 else 'are'} "
        f"read so: {'; '.join(joined)} (to keep them apart, set options.labels.join_spellings to false)"
    )


def _was(rows: Sequence[Example], done: str, *, lines: bool) -> str:
    return f"{'was' if len(rows) == 1 else 'were'} {done} ({_first(rows, lines=lines)})"


def _first(rows: Sequence[Example], *, lines: bool) -> str:
    return show_places([name_place(one.row, one.line if lines else None) for one in rows])

"""Cleaning of examples: afterwards every text occurs once and has one label."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidDataset
from lens_engine.task.wording import show_count
from lens_engine.types import Example

_MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class CleanExamples:
    """The examples that are left of an upload, and what was removed."""

    examples: list[Example]
    duplicates: list[Example]  #: rows with the text of an earlier row
    conflicts: list[Example]  #: the first row of each text that has more than one label


def clean_examples(examples: Sequence[Example]) -> CleanExamples:
    """Remove repeated texts (the first stays), and remove every text that has more than one label."""
    labels_of: dict[str, set[str]] = {}
    for example in examples:
        labels_of.setdefault(_text_key(example), set()).add(example.label)
    kept, duplicates, conflicts = list[Example](), list[Example](), list[Example]()
    seen = set[str]()
    for example in examples:
        key = _text_key(example)
        is_first, is_clear = key not in seen, len(labels_of[key]) == 1
        seen.add(key)
        if is_clear:
            (kept if is_first else duplicates).append(example)
        elif is_first:
            conflicts.append(example)
    return CleanExamples(kept, duplicates, conflicts)


def _text_key(example: Example) -> str:
    return unicodedata.normalize("NFC", example.text).strip()


def drop_leaks(
    train: CleanExamples, test: CleanExamples, config: SelectionConfig
) -> tuple[CleanExamples, list[Example]]:
    """The train rows whose text is not in the test rows, and the rows left out.

    Raises:
        InvalidDataset: a text is in both, and `splits.leaked_rows` is "reject".
    """
    test_keys = {_text_key(example) for example in test.examples}
    leaked = [example for example in train.examples if _text_key(example) in test_keys]
    if leaked and config.splits.leaked_rows == "reject":
        raise InvalidDataset(
            f"{show_count(len(leaked), 'text')} of the dataset {'is' if len(leaked) == 1 else 'are'} in the test rows "
            f"too (first rows: {list_rows(leaked, lines=True)}); remove them from one of the two, or set "
            'options.splits.leaked_rows to "drop" to leave them out of the dataset',
            field="dataset.text",
            row=leaked[0].row,
        )
    kept = [example for example in train.examples if _text_key(example) not in test_keys]
    return CleanExamples(kept, train.duplicates, train.conflicts), leaked


def list_rows(rows: Sequence[Example], *, lines: bool) -> str:
    """The first few row numbers, for a message, with their lines in the file if `lines`."""
    shown = ", ".join(
        f"{example.row} (line {example.line})" if lines and example.line is not None else str(example.row)
        for example in rows[:_MAX_LISTED]
    )
    return shown + (", …" if len(rows) > _MAX_LISTED else "")

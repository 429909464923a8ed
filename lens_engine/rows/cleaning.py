"""Cleaning of examples: afterwards every text occurs once and has one label."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidDataset
from lens_engine.types import Example

_MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class CleanExamples:
    """The examples that are left of an upload, and what was removed."""

    examples: list[Example]
    duplicates: int
    conflicts: list[int]  #: one row for each text that has more than one label


def clean_examples(examples: Sequence[Example]) -> CleanExamples:
    """Remove repeated texts (the first stays), and remove every text that has more than one label."""
    labels_of: dict[str, set[str]] = {}
    for example in examples:
        labels_of.setdefault(_text_key(example), set()).add(example.label)
    kept, seen, conflicts = list[Example](), set[str](), list[int]()
    for example in examples:
        key = _text_key(example)
        is_first = key not in seen
        seen.add(key)
        if is_first and len(labels_of[key]) == 1:
            kept.append(example)
        elif is_first:
            conflicts.append(example.row)
    in_conflict = sum(len(labels_of[_text_key(example)]) > 1 for example in examples)
    return CleanExamples(kept, len(examples) - len(kept) - in_conflict, conflicts)


def _text_key(example: Example) -> str:
    return unicodedata.normalize("NFC", example.text).strip()


def drop_leaks(train: CleanExamples, test: CleanExamples, config: SelectionConfig) -> tuple[CleanExamples, int]:
    """The train rows whose text is not in the test rows, and the number of rows left out.

    Raises:
        InvalidDataset: a text is in both, and `splits.leaked_rows` is "reject".
    """
    test_keys = {_text_key(example) for example in test.examples}
    leaked = [example.row for example in train.examples if _text_key(example) in test_keys]
    if leaked and config.splits.leaked_rows == "reject":
        raise InvalidDataset(
            f"{len(leaked)} texts of the dataset are in the test rows too (first rows: {list_rows(leaked)}); remove "
            'them from one of the two, or set options.splits.leaked_rows to "drop" to leave them out of the dataset',
            field="dataset.text",
            row=leaked[0],
        )
    leaked_rows = set(leaked)
    kept = [example for example in train.examples if example.row not in leaked_rows]
    return CleanExamples(kept, train.duplicates, train.conflicts), len(leaked)


def list_rows(rows: Sequence[int]) -> str:
    """The first few row numbers, for a message."""
    shown = ", ".join(str(row) for row in rows[:_MAX_LISTED])
    return shown + (", …" if len(rows) > _MAX_LISTED else "")

"""Cleaning of examples: afterwards every text occurs once and has one label."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidDataset
from lens_engine.liveness.beat import with_beats
from lens_engine.task.unicode_form import canonical_form
from lens_engine.task.wording import show_count
from lens_engine.types import Example

_MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class CleanExamples:
    """The examples that are left of an upload, and what was removed."""

    by_text: dict[str, Example]  #: by the text in the form in which texts are compared, in the order of the upload
    duplicates: list[Example]  #: rows with the text of an earlier row
    conflicts: list[Example]  #: the first row of each text that has more than one label

    @property
    def examples(self) -> list[Example]:
        return list(self.by_text.values())

    def without_texts(self, texts: Container[str]) -> "CleanExamples":
        """The same without these keys of `by_text`."""
        return replace(self, by_text={text: one for text, one in self.by_text.items() if text not in texts})

    def without_labels(self, labels: Container[str]) -> "CleanExamples":
        """The same without the examples of these labels."""
        return replace(self, by_text={text: one for text, one in self.by_text.items() if one.label not in labels})


def clean_examples(examples: Sequence[Example]) -> CleanExamples:
    """Remove repeated texts (the first stays), and remove every text that has more than one label."""
    texts = [canonical_form(example.text).strip() for example in with_beats(examples)]
    labels_of: dict[str, set[str]] = {}
    for text, example in zip(texts, examples, strict=True):
        labels_of.setdefault(text, set()).add(example.label)
    kept, duplicates, conflicts = dict[str, Example](), list[Example](), list[Example]()
    seen = set[str]()
    for text, example in zip(texts, examples, strict=True):
        is_first, is_clear = text not in seen, len(labels_of[text]) == 1
        seen.add(text)
        if is_clear and is_first:
            kept[text] = example
        elif is_clear:
            duplicates.append(example)
        elif is_first:
            conflicts.append(example)
    return CleanExamples(kept, duplicates, conflicts)


def drop_leaks(
    train: CleanExamples, test: CleanExamples, config: SelectionConfig
) -> tuple[CleanExamples, list[Example]]:
    """The train rows whose text is not in the test rows, and the rows left out.

    Raises:
        InvalidDataset: a text is in both, and `splits.leaked_rows` is "reject".
    """
    leaked = [example for text, example in train.by_text.items() if text in test.by_text]
    if leaked and config.splits.leaked_rows == "reject":
        raise InvalidDataset(
            f"{show_count(len(leaked), 'text')} of the dataset {'is' if len(leaked) == 1 else 'are'} in the test rows "
            f"too (first rows: {list_rows(leaked, lines=True)}); remove them from one of the two, or set "
            'options.splits.leaked_rows to "drop" to leave them out of the dataset',
            field="dataset.text",
            row=leaked[0].row,
        )
    return train.without_texts(test.by_text), leaked


def list_rows(rows: Sequence[Example], *, lines: bool) -> str:
    """The first few row numbers, for a message, with their lines in the file if `lines`."""
    shown = ", ".join(
        f"{example.row} (line {example.line})" if lines and example.line is not None else str(example.row)
        for example in rows[:_MAX_LISTED]
    )
    return shown + (", …" if len(rows) > _MAX_LISTED else "")

"""What is in a dataset: labels, repeated texts, texts that are labelled in two ways, lengths.

Texts and labels are compared as a run compares them: without case, Unicode form, repeated spaces and what nobody sees.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from random import Random

import numpy as np
from pydantic import Field

from lens_engine.config import LabelOptions
from lens_engine.prompt.examples import rank_labels
from lens_engine.prompt.text_checks import fold_text
from lens_engine.rows.cleaning import CleanRows, clean_rows, join_spellings
from lens_engine.types import Example, Record

_MOST_LISTED = 100  #: largest number of texts that are listed
_MOST_CHARACTERS = 300  #: longest listed text (characters)
_MOST_ROWS = 10


class LabelRows(Record):
    """A label and its number of rows."""

    label: str = Field(description="Label.")
    rows: int = Field(description="Number of rows.")


class JoinedLabel(Record):
    """A label with several spellings, which a run reads as one label."""

    label: str = Field(description="Label: the most frequent spelling.")
    spellings: tuple[LabelRows, ...] = Field(description="Spellings, the most frequent first.")


class ConflictingLabel(LabelRows):
    """One of the labels of a text."""

    first_rows: tuple[int, ...] = Field(description="At most 10 rows with the text and the label, counted from 0.")


class ConflictingText(Record):
    """A text that occurs with more than one label."""

    text: str = Field(description="Text of the first row; a long one is cut.")
    labels: tuple[ConflictingLabel, ...] = Field(description="Labels of the text, the most frequent first.")


class ConflictingTexts(Record):
    """The texts that occur with more than one label. A run sets them aside."""

    total: int = Field(description="Number of texts.")
    texts: tuple[ConflictingText, ...] = Field(description="At most 100 texts, in the order of their first rows.")


class Lengths(Record):
    """The lengths of texts."""

    mean: float = Field(description="Mean.")
    median: float = Field(description="Median.")
    p95: float = Field(description="95th percentile.")
    max: int = Field(description="Maximum.")


class DatasetReport(Record):
    """What is in a dataset."""

    rows: int = Field(description="Number of rows.")
    sample_rows: int = Field(
        description="Number of rows of the sample. `duplicates`, `conflicts`, `characters` and "
        "`tokens` are of the sample, all else is of all rows. The sample of the service has all rows up to 20,000 rows "
        "and 4 million characters, and as much of a larger dataset, with rows of every label."
    )
    labels: tuple[LabelRows, ...] = Field(
        description="Labels, the most frequent first. Spellings of one label count as one label."
    )
    joined_labels: tuple[JoinedLabel, ...] = Field(
        description="Labels with several spellings, which differ only in case, spaces or Unicode form. A run reads "
        "them as one label, unless `labels.join_spellings` is false."
    )
    duplicates: int = Field(
        description="Number of rows of the sample whose text occurs before in it, with any label. Case, spaces, "
        "Unicode form and invisible characters are ignored."
    )
    conflicts: ConflictingTexts = Field(description="Texts that occur with more than one label in the sample.")
    characters: Lengths = Field(description="Lengths of the texts of the sample (characters).")
    tokens: Lengths | None = Field(
        description="Lengths of the texts of the sample (tokens of the model); null without a tokenizer."
    )
    warnings: tuple[str, ...] = Field(description="Warnings of the reading of the dataset.")


def describe_dataset(
    examples: Sequence[Example],
    count_tokens: Callable[[Sequence[str]], list[int]] | None = None,
    *,
    counts: Mapping[str, int] | None = None,
    warnings: Sequence[str] = (),
) -> DatasetReport:
    """The report on a dataset. 20,000 rows of 300 characters take some 10 seconds.

    Args:
        examples: at least one; of a large dataset a sample.
        count_tokens: number of tokens of each text; None for a report without tokens.
        counts: number of rows of each label as it is written, in the whole dataset; None if `examples` are all rows.
        warnings: of the reading of the dataset.
    """
    written = Counter(example.label for example in examples) if counts is None else Counter(counts)
    label_of = join_spellings(rank_labels(written), written, LabelOptions())
    spellings = defaultdict[str, Counter[str]](Counter)
    for label, rows_of_label in written.items():
        spellings[label_of[label]][label] = rows_of_label
    rows = clean_rows(examples, label_of)
    texts = [example.text for example in examples]
    return DatasetReport(
        rows=written.total(),
        sample_rows=len(examples),
        labels=_rank({label: found.total() for label, found in spellings.items()}),
        joined_labels=tuple(
            JoinedLabel(label=label, spellings=_rank(found))
            for label, found in sorted(spellings.items())
            if len(found) > 1
        ),
        duplicates=len(examples) - len(rows.by_text) - len(rows.conflicts),
        conflicts=_list_conflicts(examples, label_of, rows),
        characters=_measure([len(text) for text in texts]),
        tokens=None if count_tokens is None else _measure(count_tokens(texts)),
        warnings=tuple(warnings),
    )


def _rank(counts: Mapping[str, int]) -> tuple[LabelRows, ...]:
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(LabelRows(label=label, rows=rows) for label, rows in ranked)


def _list_conflicts(examples: Sequence[Example], label_of: Mapping[str, str], rows: CleanRows) -> ConflictingTexts:
    listed = {fold_text(example.text): example.text for example in rows.conflicts[:_MOST_LISTED]}
    found: dict[str, dict[str, list[int]]] = {text: {} for text in listed}
    for example in examples:
        if (text := fold_text(example.text)) in found:
            found[text].setdefault(label_of[example.label], []).append(example.row)
    return ConflictingTexts(
        total=len(rows.conflicts),
        texts=tuple(
            ConflictingText(
                text=_cut(listed[text]),
                labels=tuple(
                    ConflictingLabel(label=label, rows=len(places), first_rows=tuple(places[:_MOST_ROWS]))
                    for label, places in sorted(labels.items(), key=lambda one: (-len(one[1]), one[0]))
                ),
            )
            for text, labels in found.items()
        ),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _measure(lengths: Sequence[int]) -> Lengths:
    median, p95 = np.percentile(lengths, (50, 95))
    return Lengths(mean=float(np.mean(lengths)), median=float(median), p95=float(p95), max=max(lengths))


_SEED = 0


def draw_sample(rows: Sequence[tuple[str, int]], most_rows: int, most_characters: int) -> list[int]:
    """Draw rows at random, and return their indexes in order: all of them if they fit.

    Half of the sample goes to the labels in equal parts, so that a rare label keeps its rows; the other half is drawn
    from all rows. If the characters do not suffice, every label has a row before one has a second. The same rows give
    the same sample.

    Args:
        rows: label and length (characters) of each row.
        most_rows, most_characters: bounds of the sample.
    """
    if len(rows) <= most_rows and sum(length for _, length in rows) <= most_characters:
        return list(range(len(rows)))
    each = most_rows // (2 * len({label for label, _ in rows}))
    taken, first, others = Counter[str](), list[tuple[int, int]](), list[int]()
    for index in Random(_SEED).sample(range(len(rows)), len(rows)):
        label = rows[index][0]
        if taken[label] < each:
            first.append((taken[label], index))
        else:
            others.append(index)
        taken[label] += 1
    order = [index for _, index in sorted(first, key=lambda one: one[0])] + others
    ends = accumulate(rows[index][1] for index in order)
    fitting = sum(1 for _ in takewhile(lambda end: end <= most_characters, ends))
    return sorted(order[: min(most_rows, max(1, fitting))])

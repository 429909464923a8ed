"""Labels with too few rows for the splits: how many rows they need, and the task without them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Never

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidInput, join_faults
from lens_engine.rows.quotas import count_labels
from lens_engine.rows.split_sizes import LabelCounts, SplitSizes, size_splits
from lens_engine.task.label_forms import find_likeness, fold_labels
from lens_engine.task.template import Task, Verbalizer
from lens_engine.task.wording import show_count, show_label
from lens_engine.types import Example

_PLENTY = 1_000_000
"""Rows of each label with which every option that can be satisfied by rows is satisfied."""

_MOST_ADDED = 5_000
"""Largest number of rows that are added to a label to find out how many it needs."""

_MOST_LESSENED = 20
"""Largest number of labels whose need is lessened as far as it goes; a refusal lists no more labels."""

_LEAST_LABELS = 2
_OPTIONS = {
    "test": "splits.test",
    "validation": "splits.validation",
    "score": "filtering.max_score_size",
    "candidate": "filtering.candidates",
}
"""The option that limits each split."""


@dataclass(frozen=True, slots=True)
class Supply:
    """The rows that there are: of the whole upload, and of it those with a text of their own."""

    uploaded: Sequence[Example]
    usable: Sequence[Example]


@dataclass(frozen=True, slots=True)
class ServedTask:
    """A task whose labels all have enough rows, the sizes of its splits, and a warning for each label left out."""

    task: Task
    sizes: SplitSizes
    warnings: tuple[str, ...]


def serve_labels(task: Task, dataset: Supply, test: Supply | None, config: SelectionConfig) -> ServedTask:
    """The task with the labels that have enough rows, and the sizes of the splits.

    Raises:
        ClassTooSmall: a label has too few rows, and `labels.rare` is "reject"; or fewer than two labels would be left.
            The error lists all such labels, each with the number of rows that it needs.
        InvalidConfig: an option makes a split too small for the labels, however many rows there are.
    """
    shortage = _Shortage(task.labels, dataset, test, config)
    kept = list(task.labels)
    while lacks := (sizes := shortage.size(kept)).find_lacks():
        if config.labels.rare == "reject":
            shortage.refuse()
        shortage.check_options(kept)
        kept = shortage.drop_rarest(kept, lacks)
        if len(kept) < _LEAST_LABELS:
            shortage.refuse()
    if len(kept) < len(task.labels):
        task = replace(task, verbalizer=Verbalizer({label: task.verbalizer.words[label] for label in kept}))
    dropped = [label for label in shortage.labels if label not in kept]
    return ServedTask(task, sizes, tuple(map(shortage.describe_dropped, dropped)))


def find_rare_strangers(
    labels: Sequence[str], dataset: Supply, test: Supply | None, config: SelectionConfig
) -> dict[str, str]:
    """With `labels.rare` "drop": the labels of rows that have no label word and too few rows, each with a warning.

    A label that looks like one of the verbalizer is not among them: it is meant to be that label.
    """
    if config.labels.rare != "drop":
        return {}
    known = fold_labels(labels)
    rows = (*dataset.uploaded, *(() if test is None else test.uploaded))
    strangers = [
        label
        for label in dict.fromkeys(example.label for example in rows)
        if label.strip() and label not in labels and find_likeness(label, known) is None
    ]
    shortage = _Shortage([*labels, *strangers], dataset, test, config)
    kept = list(shortage.labels)
    while len(kept) >= _LEAST_LABELS and (lacks := shortage.size(kept).find_lacks()):
        kept = shortage.drop_rarest(kept, lacks)
    return {label: shortage.describe_dropped(label) for label in strangers if label not in kept}


class _Shortage:
    """Works out what labels lack."""

    def __init__(self, labels: Sequence[str], dataset: Supply, test: Supply | None, config: SelectionConfig) -> None:
        self.labels = labels
        self._config = config
        self._available = count_labels(dataset.usable, labels)
        self._test_available = None if test is None else count_labels(test.usable, labels)
        self._uploaded = Counter(example.label for example in dataset.uploaded)
        self._test_uploaded = None if test is None else Counter(example.label for example in test.uploaded)

    def size(self, kept: Sequence[str]) -> SplitSizes:
        return self._size({label: self._available[label] for label in kept}, kept)

    def count(self, label: str) -> int:
        """Rows of a label in the dataset, or in the test rows if there are fewer."""
        return min([self._available[label], *([] if self._test_available is None else [self._test_available[label]])])

    def drop_rarest(self, kept: Sequence[str], lacks: Collection[str]) -> list[str]:
        """The labels without those of `lacks` that have the fewest rows."""
        fewest = min(self.count(label) for label in lacks)
        return [label for label in kept if label not in lacks or self.count(label) > fewest]

    def check_options(self, kept: Sequence[str]) -> None:
        """
        Raises:
            InvalidConfig: an option makes a split too small for these labels, however many rows there are.
        """
        sizes = self._size(dict.fromkeys(kept, _PLENTY), kept, has_plenty=True)
        for split in sizes.find_lacks().values():
            counts = sizes.candidates if split == "candidate" else sizes.with_every_label[split]
            option = _OPTIONS[split]
            if split == "score" and self._config.filtering.max_score_size >= len(kept):
                option = "filtering.initial_score_size"
            raise InvalidConfig(
                f"options.{option} allows {show_count(sum(counts.values()), f'{split} row')} for {len(kept)} labels, "
                f"however many rows the dataset has; raise {option}",
                field=f"options.{option}",
            )

    def refuse(self) -> Never:
        """Refuse every label that lacks rows."""
        self.check_options(self.labels)
        needed, sizes = self._find_needs()
        found: list[InvalidInput] = [
            self._refusal(label, needed[label], sizes)
            for label in self.labels
            if needed[label] > self._available[label]
        ]
        if self._test_available is not None:
            found += [self._test_refusal(label) for label, count in self._test_available.items() if not count]
        raise join_faults(found)

    def describe_dropped(self, label: str) -> str:
        rows = [show_count(self._uploaded[label], "row")]
        if self._test_uploaded is not None:
            rows.append(show_count(self._test_uploaded[label], "test row"))
        return f"the label {show_label(label)} was left out of the task, with {' and '.join(rows)}: it is too rare"

    def _size(self, available: LabelCounts, kept: Sequence[str], *, has_plenty: bool = False) -> SplitSizes:
        test = self._test_available
        if test is not None:
            test = {label: max(test[label], 1) if has_plenty else test[label] for label in kept}
        return size_splits(available, test, self._config)

    def _find_needs(self) -> tuple[LabelCounts, SplitSizes]:
        """Rows of each label with which none is too rare, and without any one of which one would be."""
        needed, sizes = self._grow()
        rare = [label for label in self.labels if needed[label] > self._available[label]]
        is_least = False
        while not is_least:
            is_least = True
            for label in rare[:_MOST_LESSENED]:
                fewer = needed | {label: needed[label] - 1}
                smaller = self._size(fewer, self.labels, has_plenty=True)
                if fewer[label] >= self._available[label] and not smaller.find_lacks():
                    needed, sizes, is_least = fewer, smaller, False
        return needed, sizes

    def _grow(self) -> tuple[LabelCounts, SplitSizes]:
        """Rows of each label with which none is too rare: the rare labels get one row more until they have enough."""
        needed = dict(self._available)
        while True:
            sizes = self._size(needed, self.labels, has_plenty=True)
            lacks = sizes.find_lacks()
            if not lacks or any(needed[label] - self._available[label] >= _MOST_ADDED for label in lacks):
                return needed, sizes
            for label in lacks:
                needed[label] += 1

    def _refusal(self, label: str, needed: int, sizes: SplitSizes) -> ClassTooSmall:
        uses = [
            (sizes.test if self._test_available is None else {}, "for the test rows"),
            (sizes.validation, "to validate"),
            (sizes.confirmation, "to confirm"),
            (sizes.score_set, "to score"),
            (sizes.candidates, "as demonstration"),
        ]
        parts = [f"{counts[label]} {use}" for counts, use in uses if counts.get(label)]
        spare = needed - sum(counts.get(label, 0) for counts, _ in uses)
        if spare:
            parts.append(f"{spare} spare")
        usable, uploaded = self._available[label], self._uploaded[label]
        rows = show_count(uploaded, "row")
        if usable < uploaded:
            rows += f", {usable} of them with a text of their own and with one label,"
        return ClassTooSmall(
            f"label {show_label(label)} has {rows} and needs at least {needed}: {', '.join(parts)}; "
            f"add examples{self._advice}",
            field="dataset.label",
        )

    def _test_refusal(self, label: str) -> ClassTooSmall:
        assert self._test_uploaded is not None
        rows = show_count(self._test_uploaded[label], "test row")
        if self._test_uploaded[label]:
            rows += ", none of them with one label,"
        return ClassTooSmall(
            f"label {show_label(label)} has {rows} and needs at least 1; add test rows{self._advice}",
            field="test.label",
        )

    @property
    def _advice(self) -> str:
        if self._config.labels.rare == "drop":
            return "; fewer than two labels would be left without the rare ones"
        return ', or set options.labels.rare to "drop" to leave its rows out'

"""Whether each label has enough rows: what is refused, and which labels are left out as too rare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, filterfalse

from lens_engine.config import SelectionConfig
from lens_engine.errors import (
    ClassTooSmall,
    InvalidConfig,
    InvalidDataset,
    InvalidInput,
    InvalidVerbalizer,
    join_faults,
)
from lens_engine.rows.cleaning import CleanProblem, CleanRows
from lens_engine.rows.split_sizes import SplitSizes, size_splits
from lens_engine.task.template import Task
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.task.wording import show_count, show_label

_MAX_LISTED = 10
_PLENTY = 1_000_000  #: rows of each label with which every option that can be satisfied by rows is satisfied
_LEAST_LABELS = 2
_OPTIONS = {
    "test": "splits.test",
    "validation": "splits.validation",
    "score": "filtering.max_score_size",
    "candidate": "filtering.candidates",
}
"""The option that limits each split."""


@dataclass(frozen=True, slots=True)
class ServedTask:
    """A task whose labels all have enough rows, and the sizes of its splits."""

    task: Task
    sizes: SplitSizes
    dropped: tuple[str, ...]  #: labels left out as too rare


def serve_labels(task: Task, rows: CleanProblem, config: SelectionConfig) -> ServedTask:
    """The task with the labels that have enough rows, and the sizes of the splits.

    With `labels.rare` "drop", labels with too few rows are left out, the rarest first, with or without a label word.

    Raises:
        InvalidDataset: rows have a label without a label word.
        InvalidVerbalizer: a label has a label word and no row.
        ClassTooSmall: labels have too few rows, or fewer than two labels would be left without those.
        InvalidConfig: an option makes a split too small for the labels, however many rows there are.
    """
    supply, labels = _Supply(rows, config), task.labels
    if supply.size(labels).find_lacks() and (fault := supply.find_option_fault(labels)):
        # A label word too many is the likelier mistake than an option.
        rowless = [_rowless(label) for label in labels if not rows.dataset.uploaded[label]]
        raise join_faults([*find_unknown_labels(labels, rows), *rowless, *([] if rowless else [fault])])
    kept, dropped = list(labels), list[str]()
    if config.labels.rare == "drop":
        written = [label for upload in rows.uploads.values() for label in upload.first if label.strip()]
        unknown = [label for label in dict.fromkeys(written) if label not in labels]
        kept, frequent = supply.keep(labels), supply.keep([*labels, *unknown])
        dropped = [label for label in unknown if label not in frequent] + [one for one in labels if one not in kept]
    faults = find_unknown_labels([*labels, *dropped], rows)
    sizes = supply.size(kept)
    if faults or len(kept) < _LEAST_LABELS or sizes.find_lacks():
        raise join_faults([*faults, *supply.find_faults(labels)])
    if len(kept) < len(labels):
        task = replace(task, verbalizer=Verbalizer({label: task.verbalizer.words[label] for label in kept}))
    return ServedTask(task, sizes, tuple(dropped))


def find_unknown_labels(labels: Sequence[str], rows: CleanProblem) -> list[InvalidInput]:
    """A fault for each of the first labels of rows that are not among `labels`."""
    return [
        _without_word(label, name, upload)
        for name, upload in rows.uploads.items()
        for label in [label for label in upload.first if label not in labels][:_MAX_LISTED]
    ]


def _without_word(label: str, name: str, upload: CleanRows) -> InvalidInput:
    number, first = upload.uploaded[label], upload.first[label]
    noun = "row" if name == "dataset" else "test row"
    place = f"{'the first: ' if number > 1 else ''}{first.place}"
    if label.strip():
        message = f"the label {show_label(label)} ({place}), which has no label word; add the label to the verbalizer"
    else:
        message = f"no label ({place}); give each row a label, or leave the row out"
    return InvalidDataset(f"{show_count(number, noun, 'has')} {message}", field=f"{name}.label", row=first.row)


class _Supply:
    """The numbers of rows that there are, and what they suffice for."""

    def __init__(self, rows: CleanProblem, config: SelectionConfig) -> None:
        self._rows = rows
        self._config = config
        self._dataset = rows.dataset.counts
        self._test = None if rows.test is None else rows.test.counts

    def size(self, labels: Sequence[str], least: int = 0) -> SplitSizes:
        """The sizes of the splits if each label had at least `least` rows; with `least`, also one test row."""
        test = None if self._test is None else {label: max(self._test[label], min(least, 1)) for label in labels}
        return size_splits({label: max(self._dataset[label], least) for label in labels}, test, self._config)

    def keep(self, labels: Sequence[str]) -> list[str]:
        """The labels that are left when those with too few rows are left out, the rarest first."""
        kept = list(labels)
        while len(kept) >= _LEAST_LABELS and (lacks := self.size(kept).find_lacks()):
            fewest = min(self._count(label) for label in lacks)
            kept = [label for label in kept if label not in lacks or self._count(label) > fewest]
        return kept

    def find_faults(self, labels: Sequence[str]) -> list[InvalidInput]:
        """A fault for each label with too few rows; the options allow enough."""
        if not self.size(labels).find_lacks():
            return []
        least = next(least for least in count(1) if not self.size(labels, least).find_lacks())
        sizes = self.size(labels, least)
        advice = self._advise(labels)
        if self._test is None and (fewer := self._find_least_beside_test_rows(labels)) < least:
            advice = f", or give test rows of their own, with which {fewer} are enough{advice}"
        found = [self._too_rare(label, least, sizes, advice) for label in labels if self._dataset[label] < least]
        if self._test is not None:
            found += [self._without_test(label, advice) for label in labels if not self._test[label]]
        return found

    def _advise(self, labels: Sequence[str]) -> str:
        """What helps beside more rows: leaving labels out if two or more stay, or else shorter prompts."""
        config, kept = self._config, self.keep(labels)
        if config.labels.rare == "drop":
            return "; fewer than two labels would be left without the rare ones"
        if len(kept) >= _LEAST_LABELS:
            left_out = f"{len(labels) - len(kept)} of {len(labels)} labels"
            return f', or set options.labels.rare to "drop" to leave out {left_out}'
        fewer = min(config.num_demonstrations, len(labels))
        shorter = _Supply(self._rows, config.model_copy(update={"num_demonstrations": fewer}))
        return "" if shorter.size(labels).find_lacks() else f", or set options.num_demonstrations to {fewer}"

    def _find_least_beside_test_rows(self, labels: Sequence[str]) -> int:
        """The fewest rows a label that are enough if no test rows are held out of the dataset."""

        def lacks(least: int) -> bool:
            rows = {label: max(self._dataset[label], least) for label in labels}
            return bool(size_splits(rows, dict.fromkeys(labels, 1), self._config).find_lacks())

        return next(filterfalse(lacks, count(min(self._dataset[label] for label in labels))))

    def _count(self, label: str) -> int:
        """Rows of a label in the dataset, or in the test rows if there are fewer."""
        return min(counts[label] for counts in (self._dataset, self._test) if counts is not None)

    def find_option_fault(self, labels: Sequence[str]) -> InvalidInput | None:
        """The option that makes a split too small for these labels, however many rows there are."""
        sizes = self.size(labels, _PLENTY)
        for split in sizes.find_lacks().values():
            counts = sizes.candidates if split == "candidate" else sizes.with_every_label[split]
            option = _OPTIONS[split]
            if split == "score" and self._config.filtering.max_score_size >= len(labels):
                option = "filtering.initial_score_size"
            return InvalidConfig(
                f"options.{option} allows {show_count(sum(counts.values()), f'{split} row')} for {len(labels)} labels, "
                f"however many rows the dataset has; raise {option}",
                field=f"options.{option}",
            )
        return None

    def _too_rare(self, label: str, least: int, sizes: SplitSizes, advice: str) -> InvalidInput:
        uploaded, usable = self._rows.dataset.uploaded[label], self._dataset[label]
        if not uploaded:
            return _rowless(label, f"the minimum is {least} rows per label; ", advice)
        rows = show_count(uploaded, "row")
        if usable < uploaded:
            rows += f", {usable} of them with a text of their own and with one label"
        return ClassTooSmall(
            f"label {show_label(label)} has {rows}; the minimum is {least} rows per label: "
            f"{_describe_uses(label, sizes, has_test=self._test is not None)}; add rows{advice}",
            field="dataset.label",
        )

    def _without_test(self, label: str, advice: str) -> InvalidInput:
        assert self._rows.test is not None
        are_there = "usable test row" if self._rows.test.uploaded[label] else "test row"
        return ClassTooSmall(
            f"label {show_label(label)} has no {are_there}; add one with a text of its own, or send no test rows "
            f"to hold out a share of the dataset{advice}",
            field="test.label",
        )


def _rowless(label: str, minimum: str = "", advice: str = "") -> InvalidVerbalizer:
    return InvalidVerbalizer(
        f"label {show_label(label)} has a label word but no row; {minimum}add rows, or remove the label from the "
        f"verbalizer{advice}",
        field=f"verbalizer.{label}",
    )


def _describe_uses(label: str, sizes: SplitSizes, *, has_test: bool) -> str:
    uses: list[tuple[Mapping[str, int], str]] = [
        ({} if has_test else sizes.test, "to test"),
        (sizes.validation, "to validate"),
        (sizes.confirmation, "to confirm"),
        (sizes.score_set, "to score"),
        (sizes.candidates, "as demonstrations"),
    ]
    return ", ".join(f"{counts[label]} {use}" for counts, use in uses if counts.get(label))

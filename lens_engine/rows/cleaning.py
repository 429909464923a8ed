"""Cleaning of rows: afterwards each label has one spelling, and each text occurs once and has one label."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lens_engine.config import LabelOptions
from lens_engine.errors import ClassTooSmall, InvalidDataset, InvalidInput, InvalidVerbalizer, join_faults
from lens_engine.prompt.template import Task
from lens_engine.prompt.text_checks import fold_text, measure_text, part_unspaced, show_places
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.rows.problem import Problem
from lens_engine.rows.quotas import Quotas
from lens_engine.types import Example, name_place


@dataclass(slots=True)
class CleanRows:
    """The usable rows of one upload, and what was changed or left out."""

    by_text: dict[str, Example] = field(default_factory=dict)  #: by `fold_text` of the text, as uploaded
    uploaded: Counter[str] = field(default_factory=Counter)  #: number of rows of each label, unusable ones too
    first: dict[str, Example] = field(default_factory=dict)  #: first row of each label
    respelled: dict[str, Counter[str]] = field(default_factory=dict)  #: rows of each label by their other spelling
    duplicates: list[Example] = field(default_factory=list)  #: rows with the text of an earlier row
    conflicts: list[Example] = field(default_factory=list)  #: first row of each text that has more than one label

    @property
    def examples(self) -> list[Example]:
        return list(self.by_text.values())

    @property
    def counts(self) -> Counter[str]:
        """Number of usable rows of each label."""
        return Counter(example.label for example in self.by_text.values())


@dataclass(frozen=True, slots=True)
class CleanProblem:
    """The usable rows of a problem. No text of `dataset` is in `test`."""

    dataset: CleanRows
    test: CleanRows | None  #: None if none were given
    leaked: list[Example]  #: rows left out of the dataset, because the test rows have their text

    @property
    def uploads(self) -> dict[str, CleanRows]:
        """What was uploaded, by name."""
        return {"dataset": self.dataset} | ({} if self.test is None else {"test": self.test})


def clean_problem(problem: Problem, options: LabelOptions) -> CleanProblem:
    """Join the spellings of labels; remove repeated texts (the first stays), and every text with several labels.

    Raises:
        InvalidVerbalizer: two labels of the verbalizer are spellings of one label.
    """
    written = (example.label for example in (*problem.examples, *(problem.test or ())))
    label_of = join_spellings(problem.task.labels, written, options)
    dataset = clean_rows(problem.examples, label_of)
    if problem.test is None:
        return CleanProblem(dataset, None, [])
    test = clean_rows(problem.test, label_of)
    leaked = [dataset.by_text.pop(text) for text in list(dataset.by_text) if text in test.by_text]
    return CleanProblem(dataset, test, leaked)


def join_spellings(labels: Sequence[str], written: Iterable[str], options: LabelOptions) -> dict[str, str]:
    """The label under which each label of rows goes: that of the verbalizer, or else its first spelling.

    Raises:
        InvalidVerbalizer: two labels of the verbalizer are spellings of one label.
    """
    if not options.join_spellings:
        return {label: label for label in written}
    label_of_form, label_of = dict[str, str](), dict[str, str]()
    for label in dict.fromkeys((*labels, *written)):
        label_of[label] = label_of_form.setdefault(fold_text(label), label)
    for label in labels:
        if label_of[label] != label:
            raise InvalidVerbalizer(
                f"the labels {show_label(label_of[label])} and {show_label(label)} of the verbalizer differ only in "
                "case, spaces or Unicode form, and are one label; remove one of the two, or set "
                "options.labels.join_spellings to false",
                field=f"verbalizer.{label}",
            )
    return label_of


def clean_rows(examples: Sequence[Example], label_of: Mapping[str, str]) -> CleanRows:
    """The usable rows of one upload; each label goes under another, `label_of`."""
    rows, torn, repeated = CleanRows(), set[str](), list[tuple[str, Example]]()
    for example in examples:
        label = label_of[example.label]
        if label != example.label:
            rows.respelled.setdefault(label, Counter())[example.label] += 1
            example = replace(example, label=label)
        rows.uploaded[label] += 1
        rows.first.setdefault(label, example)
        text = fold_text(example.text)
        if text not in rows.by_text:
            rows.by_text[text] = example
        elif rows.by_text[text].label != label:
            torn.add(text)
        else:
            repeated.append((text, example))
    rows.duplicates += [example for text, example in repeated if text not in torn]
    rows.conflicts += [rows.by_text.pop(text) for text in list(rows.by_text) if text in torn]
    return rows


LEAST_OF_LABEL = 2
"""Fewest rows of a label: one that is shown, and one that judges."""

_MAX_LISTED = 10
_LEAST_LABELS = 2


@dataclass(frozen=True, slots=True)
class ServedTask:
    """A task whose labels all have enough rows."""

    task: Task
    dropped: tuple[str, ...]  #: labels left out as too rare


def serve_labels(task: Task, rows: CleanProblem, options: LabelOptions) -> ServedTask:
    """The task with the labels that have enough rows. With `labels.rare` "drop" all others are left out."""
    counts = rows.dataset.counts
    rare = [label for label in task.labels if counts[label] < LEAST_OF_LABEL]
    dropped = list[str]()
    if options.rare == "drop":
        written = dict.fromkeys(label for upload in rows.uploads.values() for label in upload.first if label.strip())
        unknown = [label for label in written if label not in task.labels]
        dropped = [*(label for label in unknown if counts[label] < LEAST_OF_LABEL), *rare]
    kept = [label for label in task.labels if label not in dropped]
    faults = find_unknown_labels([*task.labels, *dropped], rows)
    if options.rare == "reject" or len(kept) < _LEAST_LABELS:
        advice = _advise(len(kept) - len(rare) * (options.rare == "reject"), len(task.labels), options)
        faults += [_too_rare(label, rows.dataset, advice) for label in rare]
    if faults:
        raise join_faults(faults)
    if len(kept) < len(task.labels):
        task = replace(task, verbalizer=Verbalizer({label: task.verbalizer.words[label] for label in kept}))
    return ServedTask(task, tuple(dropped))


def find_unknown_labels(labels: Sequence[str], rows: CleanProblem) -> list[InvalidInput]:
    """A fault for each of the first labels of rows that are not among `labels`."""
    return [
        _without_word(label, name, upload, is_in_dataset=label in rows.dataset.first)
        for name, upload in rows.uploads.items()
        for label in [label for label in upload.first if label not in labels][:_MAX_LISTED]
    ]


def _without_word(label: str, name: str, upload: CleanRows, *, is_in_dataset: bool) -> InvalidInput:
    number, first = upload.uploaded[label], upload.first[label]
    noun = "row" if name == "dataset" else "test row"
    place = f"{'the first: ' if number > 1 else ''}{first.place}"
    if label.strip() and is_in_dataset:
        message = f"the label {show_label(label)} ({place}), which has no label word; add the label to the verbalizer"
    elif label.strip():
        advice = f"leave the row{'s' * (number > 1)} out, or add labelled rows of it to the dataset"
        message = f"the label {show_label(label)} ({place}), which no row of the dataset has; {advice}"
    else:
        message = f"no label ({place}); give each row a label, or leave the row out"
    return InvalidDataset(f"{show_count(number, noun, 'has')} {message}", field=f"{name}.label", row=first.row)


def _advise(kept: int, labels: int, options: LabelOptions) -> str:
    """What helps beside more rows."""
    if options.rare == "drop":
        return "; fewer than two labels would be left without the rare ones"
    if kept < _LEAST_LABELS:
        return ""
    return f', or set options.labels.rare to "drop" to leave out {labels - kept} of {labels} labels'


def _too_rare(label: str, upload: CleanRows, advice: str) -> InvalidInput:
    uploaded, usable = upload.uploaded[label], upload.counts[label]
    if not uploaded:
        return InvalidVerbalizer(
            f"label {show_label(label)} has a label word but no row; the minimum is {LEAST_OF_LABEL} rows per label; "
            f"add rows, or remove the label from the verbalizer{advice}",
            field=f"verbalizer.{label}",
        )
    rows = show_count(uploaded, "row")
    if usable < uploaded:
        rows += f", {usable} of them with a text of their own and with one label"
    return ClassTooSmall(
        f"label {show_label(label)} has {rows}; the minimum is {LEAST_OF_LABEL} rows per label: one to show and one to "
        f"judge; add rows{advice}",
        field="dataset.label",
    )


_FAR = 4
"""A text is far longer than the rest if it is longer than this many times the text that nine tenths do not exceed."""
_FAR_CHARACTERS = 1_000
_FEW_ROWS = 50  #: fewer labelled rows than these are warned of


def warn_of_rows(
    rows: CleanProblem, served: ServedTask, quotas: Quotas, num_rows: int, *, lines: bool
) -> Iterator[str]:
    """Warnings about what was joined or left out, about dropped labels, and about few rows.

    A row is named by its line in the file, or by its number.
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
    """Largest length of a text that is not far longer than the rest (`lengths`, ascending), and at least `least`."""
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


_LEAST_SIMILARITY = 0.85
_CHARACTERS = 5
_MOST_COMPARISONS = 25_000_000  #: one or two seconds
_MOST_CHARACTERS = 4_000_000  #: of the compared texts: some 25 bytes of memory each
_WORKING_MEMORY = 64  #: for similarities (MiB)
_LOOK_ALIKES = str.maketrans("авекмнорстухіјѕαβεικνορτυχ", "abekmhopctyxijsabeikvoptux")


def count_near(examples: Sequence[Example], others: Sequence[Example]) -> int:
    """How many of the examples have a text that is nearly equal to one of the others, whatever the labels.

    They are compared by their sets of five characters in a row, by cosine; of very many or very long texts, a random
    sample is. In scripts without spaces, where a character tells more, the sets have one to three in a row.
    """
    rows = _sample(examples, int(_MOST_COMPARISONS**0.5))
    others = _sample(others, _MOST_COMPARISONS // max(len(rows), 1))
    if not rows or not others:
        return 0
    import sklearn  # slow to import
    from sklearn.neighbors import NearestNeighbors

    found: Any = NearestNeighbors  # which has no types
    neighbours = found(n_neighbors=1, metric="cosine", algorithm="brute")
    with sklearn.config_context(working_memory=_WORKING_MEMORY):  # type: ignore[attr-defined]
        distances, _ = neighbours.fit(_make_sets(others)).kneighbors(_make_sets(rows))
    return int((np.round(1 - distances, 6) >= _LEAST_SIMILARITY).sum())


def _look(text: str) -> str:
    """The text without what hides that two are the same, and in Latin letters where others look like them."""
    return fold_text(text).translate(_LOOK_ALIKES)


def _sample(examples: Sequence[Example], most: int) -> list[Example]:
    """A random sample of at most `most` examples, in their order, of at most `_MOST_CHARACTERS` by `measure_text`."""
    places = random.Random(0).sample(range(len(examples)), min(most, len(examples)))
    room = np.cumsum([measure_text(examples[place].text) for place in places]) <= _MOST_CHARACTERS
    return [examples[place] for place in sorted(place for place, fits in zip(places, room, strict=True) if fits)]


def _make_sets(rows: Sequence[Example]) -> Any:
    """The set of each text, as a sparse matrix  # [texts, features]."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer: Any = HashingVectorizer(analyzer=_list_members, binary=True)  # type: ignore[no-untyped-call]
    return vectorizer.transform([_look(row.text) for row in rows])


def _list_members(text: str) -> list[str]:
    rest, terms = part_unspaced(text)
    return terms + [rest[start : start + _CHARACTERS] for start in range(max(len(rest) - _CHARACTERS + 1, 1))]

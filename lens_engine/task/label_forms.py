"""Labels that differ only in case, spaces or Unicode form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from lens_engine.task.unicode_form import canonical_form

_WAYS = ("case", "spaces", "Unicode form")
_OPTIONS = {"case": "casefold", "spaces": "strip", "Unicode form": "strip"}


@dataclass(frozen=True, slots=True)
class Likeness:
    """Another label, and the only ways in which it differs."""

    label: str
    ways: tuple[str, ...]  #: of "case", "spaces" and "Unicode form"

    @property
    def difference(self) -> str:
        """For a message: "differs from 'refund' only in this"."""
        return " and ".join(self.ways)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the group `labels` that make the two labels one."""
        return tuple(sorted({_OPTIONS[way] for way in self.ways}))


def normal_form(label: str, *, strip: bool, casefold: bool) -> str:
    """The label as it is compared with these options of the group `labels`."""
    chosen = {"strip": strip, "casefold": casefold}
    return _form(label, {way for way, option in _OPTIONS.items() if chosen[option]})


def advise_options(names: Iterable[str]) -> str:
    """What to set so that labels become one, for a message."""
    return f"set {' and '.join(f'options.labels.{name}' for name in names)} to true"


def compare_labels(label: str, other: str) -> Likeness | None:
    """How a label differs from another, if it differs only in case, spaces or Unicode form."""
    for number in range(1, len(_WAYS) + 1):
        for ways in combinations(_WAYS, number):
            if _form(label, set(ways)) == _form(other, set(ways)):
                return Likeness(other, ways)
    return None


def find_likeness(label: str, known: Mapping[str, str]) -> Likeness | None:
    """The label in `known` that this one differs from only in case, spaces or Unicode form.

    Args:
        known: from `fold_labels`.
    """
    other = known.get(fold_label(label))
    return None if other is None or other == label else compare_labels(label, other)


def fold_label(label: str) -> str:
    """The label without case, spaces and Unicode form."""
    return _form(label, set(_WAYS))


def fold_labels(labels: Iterable[str]) -> dict[str, str]:
    """The first label of each form without case, spaces and Unicode form."""
    folded: dict[str, str] = {}
    for label in labels:
        folded.setdefault(fold_label(label), label)
    return folded


def _form(label: str, ways: set[str]) -> str:
    if "Unicode form" in ways:
        label = canonical_form(label)
    if "case" in ways:
        label = label.casefold()
        if "Unicode form" in ways:  # a folded label may lose its form
            label = canonical_form(label)
    return " ".join(label.split()) if "spaces" in ways else label

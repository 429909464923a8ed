"""Checks rows that are added to the pool of a name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.errors import ContradictingExample, Unprocessable
from app.problems import ErrorItem, point
from app.prompts.finding import CurrentVersion
from app.prompts.schemas import LabelledText
from app.settings import Settings
from app.web.validation import join_details
from lens_engine.retrieval.pool import Pool
from lens_engine.rows.near_texts import list_alike
from lens_engine.task.text_checks import find_fault, fold_text, is_blank, show_names
from lens_engine.task.wording import show_label

USUAL_CHARACTERS = 2_000
"""Length that an added text may have, also where all of the pool are shorter: prompts must fit the model's context."""

_MOST_FAULTS = 10


class _Labelled(NamedTuple):
    place: str  #: `row 17`, or `examples[3]`
    label: str
    row: int | None = None  #: in the pool; None for a row of the same request


@dataclass(frozen=True, slots=True)
class KnownRows:
    """What a prompt shows already: its labels, its pool, and the support examples that every prompt shows."""

    name: str
    labels: tuple[str, ...]
    pool: Pool
    shown: Mapping[int, tuple[str, str]]  #: text and label by row

    @classmethod
    def of(cls, found: CurrentVersion, pool: Pool) -> "KnownRows":
        result = found.answers.result
        examples = [one for answer in result.support_examples for one in answer.examples]
        return cls(found.version.name, result.task.labels, pool, {one.row: (one.text, one.label) for one in examples})

    @property
    def rows(self) -> dict[int, tuple[str, str]]:
        """Text and label by row, of the pool and of the support examples."""
        return {row.row: (row.text, row.label) for row in self.pool.rows} | dict(self.shown)

    @property
    def by_text(self) -> dict[str, _Labelled]:
        """The rows by what equal texts have in common."""
        path = f"/prompts/{self.name}/examples"
        rows = self.rows.items()
        return {fold_text(text): _Labelled(f"`{path}/{row}`", label, row) for row, (text, label) in rows}

    def most_characters(self, settings: Settings) -> int:
        longest = max((len(row.text) for row in self.pool.rows), default=0)
        return min(settings.max_text_characters, max(USUAL_CHARACTERS, longest))


def check_examples(examples: Sequence[LabelledText], known: KnownRows, settings: Settings) -> str | None:
    """Returns a warning of rows that are nearly the same as others with another label.

    Raises:
        Unprocessable: a row is blank, too long, there already, or has an unknown label; all faults are named.
        ContradictingExample: a row of the pool has the same text with another label.
    """
    most, seen, found = known.most_characters(settings), known.by_text, list[ErrorItem]()
    for index, one in enumerate(examples):
        faults = list(_find_faults(one, index, known.labels, most))
        if not faults:
            key = fold_text(one.text)
            if key in seen:
                faults = [_refuse_equal(one, index, seen[key], known)]
            seen.setdefault(key, _Labelled(f"`examples[{index}]`", one.label))
        found += faults
    for error in (Unprocessable, ContradictingExample):
        items = [item for item in found if ("row" in item) is (error is ContradictingExample)][:_MOST_FAULTS]
        if items:
            raise error(join_details(items), errors=items)
    return _warn_of_alike(examples, seen)


def _warn_of_alike(examples: Sequence[LabelledText], seen: Mapping[str, _Labelled]) -> str | None:
    """
    Args:
        seen: all rows, those of the request last, by what equal texts have in common.
    """
    keys, others = [fold_text(one.text) for one in examples], list(seen.values())
    place_of = {key: place for place, key in enumerate(seen)}
    found = [
        f"`examples[{index}]`, with the label {show_label(examples[index].label)}, has nearly the text of "
        f"{others[place].place}, with the label {show_label(others[place].label)}"
        for index, place in list_alike(keys, list(seen))
        if place < place_of[keys[index]] and others[place].label != examples[index].label
    ]
    advice = "a prompt may show both, so take out the one whose label is wrong"
    return "; ".join([*found[:_MOST_FAULTS], advice]) if found else None


def _find_faults(one: LabelledText, index: int, labels: Sequence[str], most: int) -> Iterator[ErrorItem]:
    fault = "is blank; write a text" if is_blank(one.text) else find_fault(one.text, most)
    if fault is not None:
        yield {"detail": f"`examples[{index}].text` {fault}", "pointer": point("examples", index, "text")}
    if one.label not in labels:
        detail = f"`examples[{index}].label` is none of the labels of the prompt: {show_names(labels)}"
        yield {"detail": detail, "pointer": point("examples", index, "label")}


def _refuse_equal(one: LabelledText, index: int, other: _Labelled, known: KnownRows) -> ErrorItem:
    """Why a row is refused whose text there is already; with the number of the row that it contradicts."""
    place, pointer = f"`examples[{index}]`", point("examples", index)
    if one.label == other.label:
        return {"detail": f"{place} is the same as {other.place}; leave it out", "pointer": pointer}
    contradicted = f"{place} has the text of {other.place}, with the label {show_label(one.label)} in place of"
    what = f"{contradicted} {show_label(other.label)}"
    if other.row is None:
        return {"detail": f"{what}; send the right one alone", "pointer": pointer}
    if other.row in known.shown:
        advice = "every prompt shows that one, so leave this one out, or start a new selection without that one"
    else:
        advice = f"leave it out, or first take the other one out (DELETE /prompts/{known.name}/examples/{other.row})"
    return {"detail": f"{what}; {advice}", "pointer": pointer, "row": other.row}

"""Decisions about the examples of a name: what is added to its pool, and what is taken out.

Each change is a version of the name. The rows are checked before the name is locked: reading a pool takes some tenths
of a second.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.answers.answers import Indexes
from app.errors import (
    Conflict,
    ContentTooLarge,
    ErrorItem,
    NotFound,
    PreconditionFailed,
    Unprocessable,
    invalid_inputs,
    point,
)
from app.prompts import pools
from app.prompts.finding import CurrentVersion, PromptFinder
from app.prompts.pools import Changes, VersionedPool
from app.prompts.schemas import ExamplesBody, LabelledText
from app.prompts.service import Change, NextVersion
from app.selections.datasets import StoredDataset, keep_rows
from app.selections.limits import parsing_limits
from app.settings import Settings
from app.store import prompts as repository
from app.store.quota import lock_owner
from app.store.services import Services
from app.store.tables import Prompt, PromptVersion
from app.web.validation import join_details
from lens_engine.files import parse_inline
from lens_engine.prompt.pool import MOST_POOL_ROWS, Pool, PoolRow
from lens_engine.prompt.text_checks import find_fault, fold_text, is_blank, show_names
from lens_engine.prompt.wording import show_label

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


def check_examples(examples: Sequence[LabelledText], known: KnownRows, settings: Settings) -> None:
    most, seen, found = known.most_characters(settings), known.by_text, list[ErrorItem]()
    for index, one in enumerate(examples):
        faults = list(_find_faults(one, index, known.labels, most))
        if not faults:
            key = fold_text(one.text)
            if key in seen:
                faults = [_refuse_equal(one, index, seen[key], known)]
            seen.setdefault(key, _Labelled(f"`examples[{index}]`", one.label))
        found += faults
    contradicting = [item for item in found if "row" in item][:_MOST_FAULTS]
    if others := [item for item in found if "row" not in item][:_MOST_FAULTS]:
        raise Unprocessable(join_details(others), errors=others)
    if contradicting:
        raise Conflict(join_details(contradicting), code="contradicting-example", errors=contradicting)


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


MOST_ROWS = MOST_POOL_ROWS + 5_000
"""Number of rows that the pool of a name may have: more than a run takes, so that it can learn from the first day."""

_Alter = Callable[[Session, VersionedPool, Changes], Changes]
"""From the changes of the pool in the version before to those in the next one."""

_NO_POOL = (
    "every prompt of this name shows the same support examples, so added rows would change none; start a new selection "
    "with the new rows in its dataset"
)


@dataclass(frozen=True, slots=True)
class PoolChange:
    """A change of the examples of a name, and who makes it."""

    change: Change
    indexes: Indexes

    def add(self, body: ExamplesBody) -> PromptVersion:
        """Add rows, all or none."""
        found, pool = self._read()
        new = len(body.examples)
        if len(pool.rows) + new > MOST_ROWS:
            raise ContentTooLarge(
                f"the pool has {len(pool.rows):,} rows, and with {new:,} more it would have more than {MOST_ROWS:,}; "
                f"take rows out (DELETE /prompts/{self.change.name}/examples/{{row}}), or start a new selection from "
                f"all of them (POST /prompts/{self.change.name}/dataset), which takes {MOST_POOL_ROWS:,} at most",
                code="pool-full",
            )
        check_examples(body.examples, KnownRows.of(found, pool), self.change.services.settings)

        def alter(session: Session, versioned: VersionedPool, before: Changes) -> Changes:
            first_row = pools.find_next_row(session, versioned)
            added = {
                row: PoolRow(row=row, text=one.text, label=one.label)
                for row, one in enumerate(body.examples, first_row)
            }
            return {**before, **added}

        return self._write(found, alter, {"added": new, "taken_out": 0}, body.note)

    def take_out(self, row: int, note: str | None) -> PromptVersion:
        """Take a row out of the pool."""
        found, pool = self._read()
        if row not in pool.places:
            raise NotFound("the pool of this name has no such row")
        if row in KnownRows.of(found, pool).shown:
            raise Conflict(
                "the row is a support example, which prompts of this name show for every input; start a new selection "
                "without it",
                code="example-in-use",
            )
        if len(pool.rows) == 1:
            raise Conflict("the row is the last one of the pool; add another one first", code="example-in-use")

        def alter(session: Session, versioned: VersionedPool, before: Changes) -> Changes:
            after = {number: one for number, one in before.items() if number != row}
            return {**after, row: None} if row < versioned.find_first_added(session) else after

        return self._write(found, alter, {"added": 0, "taken_out": 1}, note)

    def _read(self) -> tuple[CurrentVersion, Pool]:
        """The current version, if the client may change it."""
        change = self.change
        with change.services.database.session_scope() as session:
            unknown = Prompt(version=0, is_deleted=True)
            change.condition.check(session.get(Prompt, (change.owner_id, change.name)) or unknown)
            found = PromptFinder(change.services, change.owner_id, change.name).read_current(session)
        if found.pool is None:
            raise Conflict(_NO_POOL, code="no-pool")
        return found, self.indexes.load(found.pool.source)

    def _write(self, found: CurrentVersion, alter: _Alter, about: Mapping[str, Any], note: str | None) -> PromptVersion:
        """Make the next version."""
        change, version, versioned = self.change, found.version, found.pool
        assert versioned is not None
        with change.services.database.session_scope() as session:
            lock_owner(session, change.owner_id, change.services.settings)
            prompt = repository.lock_name(session, change.owner_id, change.name)
            change.condition.check(prompt)
            if prompt.version != version.version:
                raise PreconditionFailed(
                    f"the name has version {prompt.version} by now; look, and send its quoted `ETag`"
                )
            assert version.selection_id is not None
            before = versioned.list_changes(session)
            after = alter(session, versioned, before)
            made = NextVersion(version.selection_id, {**version.summary, **about}, found.content, after)
            return change.add(session, prompt, made, before, note)


def copy_examples(services: Services, owner_id: str, name: str) -> StoredDataset:
    """Store the pool of a name with its support examples as a dataset."""
    with services.database.session_scope() as session:
        found = PromptFinder(services, owner_id, name).read_current(session)
    if found.pool is None:
        raise Conflict("the prompt has no pool; take the dataset of its selection", code="no-pool")
    rows = KnownRows.of(found, found.pool.load()).rows
    with invalid_inputs():
        listed = [{"text": text, "label": label} for _, (text, label) in sorted(rows.items())]
        parsed = parse_inline(listed, parsing_limits(services.settings))
    with services.database.session_scope() as session:
        return keep_rows(session, owner_id, services.settings, parsed, name)

"""Decisions about the examples of a name: what is added to its pool, and what is taken out.

Each change is a version of the name. The rows are checked before the name is locked: reading a pool takes some tenths
of a second.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.answers.indexes import Indexes
from app.errors import ExampleInUse, NoPool, NotFound, PoolFull, PreconditionFailed
from app.prompts import pools
from app.prompts.added_examples import KnownRows, check_examples
from app.prompts.finding import CurrentVersion, PromptFinder
from app.prompts.pools import Changes, VersionedPool
from app.prompts.schemas import ExamplesBody
from app.prompts.service import Change, NextVersion
from app.selections.bodies import parsing_limits
from app.selections.datasets import StoredDataset, keep_rows
from app.selections.refusals import invalid_inputs
from app.services import Services
from app.store import prompts as repository
from app.store.prompt_tables import Prompt, PromptVersion
from app.store.quota import lock_owner
from lens_engine.reading import parse_inline
from lens_engine.retrieval.pool import MOST_POOL_ROWS, Pool, PoolRow

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
            raise PoolFull(
                f"the pool has {len(pool.rows):,} rows, and with {new:,} more it would have more than {MOST_ROWS:,}; "
                f"take rows out (DELETE /prompts/{self.change.name}/examples/{{row}}), or start a new selection from "
                f"all of them (POST /prompts/{self.change.name}/dataset), which takes {MOST_POOL_ROWS:,} at most"
            )
        warning = check_examples(body.examples, KnownRows.of(found, pool), self.change.services.settings)

        def alter(session: Session, versioned: VersionedPool, before: Changes) -> Changes:
            first_row = pools.find_next_row(session, versioned)
            added = {
                row: PoolRow(row=row, text=one.text, label=one.label)
                for row, one in enumerate(body.examples, first_row)
            }
            return {**before, **added}

        return self._write(found, alter, {"added": new, "taken_out": 0, "warning": warning}, body.note)

    def take_out(self, row: int, note: str | None) -> PromptVersion:
        """Take a row out of the pool."""
        found, pool = self._read()
        if row not in pool.places:
            raise NotFound("the pool of this name has no such row")
        if row in KnownRows.of(found, pool).shown:
            raise ExampleInUse(
                "the row is a support example, which prompts of this name show for every input; start a new selection "
                "without it"
            )
        if len(pool.rows) == 1:
            raise ExampleInUse("the row is the last one of the pool; add another one first")

        def alter(session: Session, versioned: VersionedPool, before: Changes) -> Changes:
            after = {number: one for number, one in before.items() if number != row}
            return {**after, row: None} if row < versioned.find_first_added(session) else after

        return self._write(found, alter, {"added": 0, "taken_out": 1, "warning": None}, note)

    def _read(self) -> tuple[CurrentVersion, Pool]:
        """The current version, if the client may change it."""
        change = self.change
        with change.services.database.session_scope() as session:
            unknown = Prompt(version=0, is_deleted=True)
            change.condition.check(repository.find_name(session, change.owner_id, change.name) or unknown)
            found = PromptFinder(change.services, change.owner_id, change.name).read_current(session)
        if found.pool is None:
            raise NoPool(_NO_POOL)
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
                    f"the name has version {prompt.version} by now; look at it, and send its `ETag`"
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
        raise NoPool("the prompt has no pool; take the dataset of its selection")
    rows = KnownRows.of(found, found.pool.load()).rows
    with invalid_inputs():
        listed = [{"text": text, "label": label} for _, (text, label) in sorted(rows.items())]
        parsed = parse_inline(listed, parsing_limits(services.settings))
    with services.database.session_scope() as session:
        return keep_rows(session, owner_id, services.settings, parsed, name)

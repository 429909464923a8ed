"""A claim whose answer is lost, or whose attempt never begins."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.database import Database
from app.models import Selection
from app.selections.claims import Claim
from tests.integration.conftest import Selections
from worker.persistence import commit_with_patience
from worker.taking import Taking


class LosingDatabase(Database):
    """The answer to its first commit does not arrive."""

    is_lost = False

    @contextmanager
    def session_scope(self) -> Iterator[Session]:
        with super().session_scope() as session:
            yield session
        if not LosingDatabase.is_lost:
            LosingDatabase.is_lost = True
            raise OperationalError("COMMIT", None, Exception("server closed the connection unexpectedly"))


def test_claim_whose_answer_was_lost_is_found_again(selections: Selections, database: Database) -> None:
    selection_id = selections.queued()
    losing = LosingDatabase(database.engine, database.sessions)

    claim = commit_with_patience(losing, Taking(losing, selection_id, 60).take, 20)

    assert LosingDatabase.is_lost
    assert claim == Claim(selection_id, 1)


def test_claim_of_another_is_not_taken_for_ones_own(selections: Selections, database: Database) -> None:
    """A claim that was rolled back, after which another worker made the same attempt."""
    selection_id = selections.queued()
    taking = Taking(database, selection_id, 60)
    with database.sessions() as session:
        assert taking.take(session) == Claim(selection_id, 1)
        session.rollback()
    assert selections.claim(selection_id) == Claim(selection_id, 1)

    assert commit_with_patience(database, taking.take, 20) is None
    taking.give_back(5)

    assert selections.status_of(selection_id) == "running"


def test_shutdown_before_the_attempt_begins_gives_the_selection_back(
    selections: Selections, database: Database
) -> None:
    selection_id = selections.queued()
    taking = Taking(database, selection_id, 60)
    commit_with_patience(database, taking.take, 20)

    taking.give_back(5)

    assert selections.status_of(selection_id) == "queued"
    with database.session_scope() as session:
        assert session.get_one(Selection, selection_id).crashes == 0


def test_shutdown_after_the_attempt_has_ended_changes_nothing(selections: Selections, database: Database) -> None:
    selection_id = selections.queued()
    taking = Taking(database, selection_id, 60)
    commit_with_patience(database, taking.take, 20)
    with database.session_scope() as session:
        session.execute(update(Selection).values(status="cancelled", lease_until=None))

    taking.give_back(5)

    assert selections.status_of(selection_id) == "cancelled"

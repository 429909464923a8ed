"""Taking a selection: a claim that survives a lost answer and a shutdown."""

import logging

from sqlalchemy import Text, cast, func, select, text
from sqlalchemy.orm import Session

from app.database import POSTGRES_AWAY, Database
from app.selections import claims
from app.selections.claims import Claim
from worker.persistence import commit_with_patience

_log = logging.getLogger(__name__)


class Taking:
    """The claim of one selection by one work-horse.

    If the answer to its commit is lost, or a shutdown comes before the attempt begins, Postgres still knows whether
    the transaction of the claim was committed.
    """

    def __init__(self, database: Database, selection_id: str, lease_seconds: float) -> None:
        self._database = database
        self._selection_id = selection_id
        self._lease_seconds = lease_seconds
        self._tried: tuple[Claim, str] | None = None  # and the id of its transaction

    def take(self, session: Session) -> Claim | None:
        """Claim the selection; see `claims.claim_selection`. A repetition finds the claim that it made before."""
        own = self.find(session)
        if own is not None:
            return own
        claim = claims.claim_selection(session, self._selection_id, self._lease_seconds)
        if claim is not None:
            self._tried = claim, session.scalars(select(cast(func.pg_current_xact_id(), Text))).one()
        return claim

    def find(self, session: Session) -> Claim | None:
        """The claim of an earlier `take` that was committed."""
        if self._tried is None:
            return None
        claim, transaction = self._tried
        status = session.scalar(text("SELECT pg_xact_status(CAST(:id AS xid8))"), {"id": transaction})
        return claim if status == "committed" else None

    def give_back(self, patience_seconds: float) -> None:
        """Release the selection because of a shutdown before its attempt began; nothing if it is not held."""

        def release(session: Session) -> bool:
            claim = self.find(session)
            return claim is not None and claims.release(session, claim)

        try:
            if commit_with_patience(self._database, release, patience_seconds):
                _log.info("%s: released for a shutdown before its attempt began", self._selection_id)
        except POSTGRES_AWAY:
            _log.warning("%s was not released: its lease will run out", self._selection_id)

"""Idempotency-Key: a repeated POST creates no second selection and gets the first answer."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from app.errors import IdempotencyInFlight, IdempotencyMismatch
from app.store.tables import IdempotencyKey

# As text, because every submission with a key runs them, and building them costs more than running them.
_FIND = text("SELECT body_sha256, answer FROM idempotency_keys WHERE owner_id = :owner_id AND key = :key")
_HOLD = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0))")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Identity of a request: owner, key, and SHA-256 of the canonical body."""

    owner_id: str
    key: str
    body_sha256: str


def find_answer(session: Session, request: RequestKey) -> dict[str, Any] | None:
    """The answer that the key has got, as it was sent. Raises IdempotencyMismatch if it was for a different body."""
    found = session.execute(_FIND, {"owner_id": request.owner_id, "key": request.key}).one_or_none()
    if found is None:
        return None
    if found.body_sha256 != request.body_sha256:
        raise IdempotencyMismatch("this Idempotency-Key was used with a different body; use a new key")
    answer: dict[str, Any] = found.answer
    return answer


def hold_key(session: Session, request: RequestKey) -> dict[str, Any] | None:
    """As `find_answer`, and lock the key until the transaction ends.

    Raises IdempotencyInFlight if another request holds the lock.
    """
    if not session.scalar(_HOLD, {"name": f"{request.owner_id}\n{request.key}"}):
        raise IdempotencyInFlight(
            "another request with this Idempotency-Key is in progress; repeat the request later",
            headers={"Retry-After": "1"},
        )
    return find_answer(session, request)


def keep_answer(session: Session, request: RequestKey, answer: dict[str, Any]) -> None:
    """Store the answer to a request under its key."""
    session.execute(insert(IdempotencyKey).values(**asdict(request), job_id=answer["id"], answer=answer))

"""Idempotency-Key: a repeated POST creates no second selection and gets the first answer."""

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from app.errors import BadRequest, IdempotencyInFlight, IdempotencyMismatch
from app.store.tables import IdempotencyKey

_KEY = re.compile(r"[\x21-\x7e]{1,255}")

# As text, because every submission with a key runs them, and building them costs more than running them.
_FIND = text("SELECT body_sha256, answer FROM idempotency_keys WHERE owner_id = :owner_id AND key = :key")
_HOLD = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0))")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Identity of a request: owner, key, and SHA-256 of the canonical body."""

    owner_id: str
    key: str
    body_sha256: str


def check_key(key: str) -> str:
    """Return a valid key unchanged.

    Raises:
        BadRequest: the key is not 1 to 255 visible ASCII characters.
    """
    if not _KEY.fullmatch(key):
        raise BadRequest("Idempotency-Key must be 1 to 255 visible ASCII characters, without spaces")
    return key


def find_answer(session: Session, request: RequestKey) -> dict[str, Any] | None:
    """Return the stored answer to this request, if any, as it was sent.

    Raises:
        IdempotencyMismatch: the key was used with a different body.
    """
    found = session.execute(_FIND, {"owner_id": request.owner_id, "key": request.key}).one_or_none()
    if found is None:
        return None
    if found.body_sha256 != request.body_sha256:
        raise IdempotencyMismatch("this Idempotency-Key was used with a different body; use a new key")
    answer: dict[str, Any] = found.answer
    return answer


def hold_key(session: Session, request: RequestKey) -> None:
    """Lock the key until the transaction ends.

    Raises:
        IdempotencyInFlight: another request holds the lock.
    """
    if not session.scalar(_HOLD, {"name": f"{request.owner_id}\n{request.key}"}):
        raise IdempotencyInFlight(
            "another request with this Idempotency-Key is in progress; repeat the request later",
            headers={"Retry-After": "1"},
        )


def keep_answer(session: Session, request: RequestKey, answer: dict[str, Any]) -> None:
    """Store the answer to a request under its key."""
    session.execute(
        insert(IdempotencyKey).values(
            owner_id=request.owner_id,
            key=request.key,
            body_sha256=request.body_sha256,
            job_id=answer["id"],
            answer=answer,
        )
    )

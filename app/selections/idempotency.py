"""Idempotency-Key: a repeated POST creates no second selection and gets the first answer."""

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from app.errors import BadRequest, IdempotencyInFlight, IdempotencyMismatch
from app.models import IdempotencyKey

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


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
    """Return the stored answer to this request, if any, as it was sent: another release may have sent it.

    Raises:
        IdempotencyMismatch: the key was used with a different body.
    """
    # Columns, because objects of the ORM cost several times as much, and this is read for every submission with a key.
    named = (IdempotencyKey.owner_id == request.owner_id, IdempotencyKey.key == request.key)
    found = session.execute(select(IdempotencyKey.body_sha256, IdempotencyKey.answer).where(*named)).one_or_none()
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
    name = func.hashtextextended(f"{request.owner_id}\n{request.key}", 0)
    if not session.scalar(select(func.pg_try_advisory_xact_lock(name))):
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
            selection_id=answer["id"],
            answer=answer,
        )
    )

"""Idempotency-Key: a repeated POST creates no second selection and gets the first answer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from app.errors import BadRequest, IdempotencyInFlight, IdempotencyMismatch
from app.intake.bodies import Body
from app.queue import JobId
from app.services import Services
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


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a submission as JSON."""

    answer: dict[str, Any]
    job_id: JobId | None = None  #: what to enqueue when the answer was sent; None if an earlier request got the answer


def check_key(key: str) -> str:
    """Return a valid key unchanged.

    Raises:
        BadRequest: the key is not 1 to 255 visible ASCII characters.
    """
    if not _KEY.fullmatch(key):
        raise BadRequest("Idempotency-Key must be 1 to 255 visible ASCII characters, without spaces")
    return key


def answer_once(
    work: Callable[[Services, str, Body, RequestKey | None], Accepted],
    key: str | None,
    services: Services,
    owner_id: str,
    body: Body,
) -> Accepted:
    """The answer that an earlier request with this key got, or else that of the work."""
    if key is None:
        return work(services, owner_id, body, None)
    request = RequestKey(owner_id, key, body.digest())
    with services.database.session_scope() as session:
        known = _find_answer(session, request)
    return work(services, owner_id, body, request) if known is None else Accepted(known)


def hold_key(session: Session, request: RequestKey) -> dict[str, Any] | None:
    """Lock the key until the transaction ends, and return the answer that it has got meanwhile, as it was sent.

    Raises:
        IdempotencyInFlight: another request holds the lock.
        IdempotencyMismatch: the key was used with a different body.
    """
    if not session.scalar(_HOLD, {"name": f"{request.owner_id}\n{request.key}"}):
        raise IdempotencyInFlight(
            "another request with this Idempotency-Key is in progress; repeat the request later",
            headers={"Retry-After": "1"},
        )
    return _find_answer(session, request)


def _find_answer(session: Session, request: RequestKey) -> dict[str, Any] | None:
    found = session.execute(_FIND, {"owner_id": request.owner_id, "key": request.key}).one_or_none()
    if found is None:
        return None
    if found.body_sha256 != request.body_sha256:
        raise IdempotencyMismatch("this Idempotency-Key was used with a different body; use a new key")
    answer: dict[str, Any] = found.answer
    return answer


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

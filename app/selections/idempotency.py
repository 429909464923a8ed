"""Idempotency-Key: the same POST twice makes one selection and gets one answer."""

import re
from dataclasses import dataclass

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from app.errors import BadRequest, IdempotencyInFlight, IdempotencyMismatch
from app.models import IdempotencyKey
from app.selections.schemas import SelectionOut

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Whose request it is, by its key and the digest of its canonical body."""

    owner_id: str
    key: str
    body_sha256: str


def check_key(key: str) -> str:
    """
    Raises:
        BadRequest: not 1 to 255 visible ASCII characters.
    """
    if not _KEY.fullmatch(key):
        raise BadRequest("Idempotency-Key must be 1 to 255 visible ASCII characters, without spaces")
    return key


def find_answer(session: Session, request: RequestKey) -> SelectionOut | None:
    """The answer given before.

    Raises:
        IdempotencyMismatch: the key came with another body.
    """
    found = session.get(IdempotencyKey, (request.owner_id, request.key))
    if found is None:
        return None
    if found.body_sha256 != request.body_sha256:
        raise IdempotencyMismatch("this Idempotency-Key came with another body before; use a new key")
    return SelectionOut.model_validate(found.answer)


def hold_key(session: Session, request: RequestKey) -> None:
    """Keep other requests with this key out until the transaction ends.

    Raises:
        IdempotencyInFlight: one of them is in.
    """
    name = func.hashtextextended(f"{request.owner_id}\n{request.key}", 0)
    if not session.scalar(select(func.pg_try_advisory_xact_lock(name))):
        raise IdempotencyInFlight(
            "a request with this Idempotency-Key is being answered; ask again", headers={"Retry-After": "1"}
        )


def keep_answer(session: Session, request: RequestKey, answer: SelectionOut) -> None:
    session.execute(
        insert(IdempotencyKey).values(
            owner_id=request.owner_id,
            key=request.key,
            body_sha256=request.body_sha256,
            selection_id=answer.id,
            answer=answer.model_dump(mode="json"),
        )
    )

"""Submits a selection: checks it, and stores it with its datasets and its key in one transaction."""

import json
import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session
from structlog.contextvars import get_contextvars

from app.errors import BadRequest
from app.ids import SELECTION, new_id
from app.selections.bodies import Body
from app.selections.checking import KnownDataset, NewSelection, check_dataset, check_selection
from app.selections.views import present
from app.services import Services
from app.settings import Settings
from app.store.datasets import find_equal_dataset, store_dataset, weigh_rows
from app.store.idempotency import RequestKey, find_answer, hold_key, keep_answer
from app.store.queue import JobId
from app.store.quota import check_bytes, check_quota, hold_quota
from app.store.tables import Job
from lens_engine.reading import ParsedDataset

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a submission as JSON."""

    answer: dict[str, Any]
    job_id: JobId | None = None  #: what to enqueue when the answer was sent; None if an earlier request got the answer


def check_key(key: str) -> str:
    """Return a valid key unchanged. Raises BadRequest if the key is none."""
    if not _KEY.fullmatch(key):
        raise BadRequest("Idempotency-Key must be 1 to 255 visible ASCII characters, without spaces")
    return key


def submit_selection(services: Services, owner_id: str, body: Body, key: str | None) -> Accepted:
    """Check a submission, and store the selection with its datasets and its key; once for each key.

    The caller enqueues it. If the caller dies before that, the sweep does.
    """
    request = None if key is None else RequestKey(owner_id, key, body.digest())
    with services.database.session_scope() as session:
        if request is not None and (known := find_answer(session, request)) is not None:
            return Accepted(known)
        check_quota(session, owner_id, services.settings)
    new = check_selection(services, owner_id, body)
    return _store(services, owner_id, new, request)


def _store(services: Services, owner_id: str, new: NewSelection, request: RequestKey | None) -> Accepted:
    """Store a checked selection and the answer to its key in one transaction."""
    with services.database.session_scope() as session:
        if request is not None and (known := hold_key(session, request)) is not None:
            return Accepted(known)
        job = _insert(session, services.settings, owner_id, new)
        answer = present(job).model_dump(mode="json")
        if request is not None:
            keep_answer(session, request, answer)
        return Accepted(answer, JobId(job.id, 1, job.model))


def _insert(session: Session, settings: Settings, owner_id: str, new: NewSelection) -> Job:
    sources = {"dataset": new.dataset, **({} if new.test is None else {"test": new.test})}
    known = {one.id: one.field for one in reversed(sources.values()) if isinstance(one, KnownDataset)}
    # In the order in which a deletion locks. A dataset may have been deleted since it was read.
    for id_ in sorted(known):
        check_dataset(session, owner_id, id_, known[id_])
    parsed = [one for one in sources.values() if isinstance(one, ParsedDataset)]
    reserved = len(json.dumps(new.spec).encode())
    added = sum(weigh_rows(one) for one in parsed if find_equal_dataset(session, owner_id, one) is None)
    check_bytes(session, owner_id, settings, reserved + added)
    ids = {
        part: one.id if isinstance(one, KnownDataset) else store_dataset(session, owner_id, one)
        for part, one in sources.items()
    }
    hold_quota(session, owner_id, settings)  # after the rows, because other submissions of the owner now wait
    statement = insert(Job).values(
        id=new_id(SELECTION),
        owner_id=owner_id,
        name=new.name,
        dataset_id=ids["dataset"],
        test_dataset_id=ids.get("test"),
        spec=new.spec,
        num_labels=new.num_labels,
        reserved_bytes=reserved,
        request_id=get_contextvars().get("request_id"),
        warnings=[*(f"{part}: {one}" for part, rows in sources.items() for one in rows.warnings), *new.warnings],
    )
    job = session.execute(statement.returning(Job)).scalar_one()
    check_bytes(session, owner_id, settings)
    return job

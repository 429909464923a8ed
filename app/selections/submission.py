"""Submits a selection: checks it, and stores it with its datasets and its key in one transaction."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import status
from sqlalchemy import insert
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse, Response

from app.ids import SELECTION, new_id, path_of
from app.intake import idempotency
from app.intake.bodies import Body
from app.intake.receiving import Upload
from app.lifecycle.enqueueing import enqueueing
from app.logs import context
from app.queue import JobId
from app.selections.checking import KnownDataset, Labelled, NewSelection, check_dataset, check_selection
from app.selections.presentation import present
from app.services import Services
from app.store.datasets import find_equal_dataset, load_warnings, store_dataset, weigh_rows
from app.store.quota import check_bytes, check_quota, hold_quota
from app.store.tables import Job
from app.web.openapi import refusals, sends


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a submission as JSON."""

    answer: dict[str, Any]
    job_id: JobId | None = None  #: what to enqueue when the answer was sent; None if an earlier request got the answer


def submitted() -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of the route that takes submissions."""
    return {
        202: sends("Location", "Retry-After", "Idempotent-Replayed"),
        **refusals(
            *(400, 401, 413, 415, 422, 503),
            conflict="Another request with this Idempotency-Key is still being answered.",
            is_conflict_brief=True,
        ),
    }


def answer_submission(upload: Upload, key: str | None) -> Response:
    """Submit, and answer with the queued selection, which is enqueued afterwards."""
    accepted = upload.do(partial(submit_selection, key=key))
    services = upload.services
    headers = {
        "Location": path_of(accepted.answer["id"]),
        "Retry-After": str(services.settings.retry_after_seconds),
    }
    if accepted.job_id is None:
        headers["Idempotent-Replayed"] = "true"
    background = enqueueing(services, accepted.job_id)
    return JSONResponse(accepted.answer, status.HTTP_202_ACCEPTED, headers, background=background)


def submit_selection(services: Services, owner_id: str, body: Body, *, key: str | None) -> Accepted:
    """Check a submission, and store the selection with its datasets and its key in one transaction.

    The caller enqueues it. If the caller dies before that, the sweep does.

    Args:
        key: the Idempotency-Key.
    """
    request = None
    if key is not None:
        request = idempotency.RequestKey(owner_id, key, body.digest())
        with services.database.session_scope() as session:
            if (answer := idempotency.find_answer(session, request)) is not None:
                return Accepted(answer)
    if services.settings.max_selections is not None:
        with services.database.session_scope() as session:
            check_quota(session, owner_id, services.settings)
    new = check_selection(services, owner_id, body)
    with services.database.session_scope() as session:
        if request is not None:
            idempotency.hold_key(session, request)
            if (answer := idempotency.find_answer(session, request)) is not None:
                return Accepted(answer)
        job = _store(services, session, owner_id, new)
        answer = present(job).model_dump(mode="json")
        if request is not None:
            idempotency.keep_answer(session, request, answer)
        return Accepted(answer, JobId(job.id, 1, job.spec.get("model")))


def _store(services: Services, session: Session, owner_id: str, new: NewSelection) -> Job:
    sources = {"dataset": new.dataset, **({} if new.test is None else {"test": new.test})}
    fields = {"dataset": "dataset_id", "test": "test_dataset_id"}
    known = {one.id: fields[part] for part, one in reversed(sources.items()) if isinstance(one, KnownDataset)}
    # In the order in which a deletion locks. A dataset may have been deleted since it was read.
    for id_ in sorted(known):
        check_dataset(session, owner_id, id_, known[id_])
    reserved = len(json.dumps(new.spec).encode())
    added = sum(_weigh(session, owner_id, source) for source in sources.values())
    check_bytes(session, owner_id, services.settings, reserved + added)
    ids = {part: _store_source(session, owner_id, source) for part, source in sources.items()}
    warnings = tuple(f"{part}: {one}" for part, source in sources.items() for one in _warnings_of(session, source))
    hold_quota(session, owner_id, services.settings)  # after the rows, because other submissions of the owner now wait
    statement = insert(Job).values(
        id=new_id(SELECTION),
        owner_id=owner_id,
        name=new.name,
        dataset_id=ids["dataset"],
        test_dataset_id=ids.get("test"),
        spec=new.spec,
        num_labels=new.num_labels,
        reserved_bytes=reserved,
        request_id=context.get("request_id"),
        warnings=[*warnings, *new.warnings],
    )
    job = session.execute(statement.returning(Job)).scalar_one()
    check_bytes(session, owner_id, services.settings)
    return job


def _weigh(session: Session, owner_id: str, source: Labelled) -> int:
    """Size of the rows that will be stored (bytes)."""
    if isinstance(source, KnownDataset) or find_equal_dataset(session, owner_id, source) is not None:
        return 0
    return weigh_rows(source)


def _store_source(session: Session, owner_id: str, source: Labelled) -> str:
    if isinstance(source, KnownDataset):
        return source.id
    return store_dataset(session, owner_id, source)


def _warnings_of(session: Session, source: Labelled) -> Sequence[str]:
    if isinstance(source, KnownDataset):
        return load_warnings(session, source.id)
    return source.warnings

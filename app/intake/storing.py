"""Stores a submission: with its datasets and its key, in one transaction."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.errors import UnknownDataset
from app.ids import new_id
from app.intake import idempotency
from app.intake.order import Desk, KnownDataset, Order, Source, ValidJob
from app.intake.submissions import RawSubmission
from app.logs import context
from app.queue import JobId
from app.services import Services
from app.store.datasets import (
    find_equal_dataset,
    load_rows,
    load_warnings,
    owns_dataset,
    store_dataset,
    store_texts,
    weigh_rows,
)
from app.store.pools import store_pool
from app.store.quota import check_bytes, check_quota, hold_quota
from app.store.tables import Job
from lens_engine.reading import ParsedDataset, ReadTexts


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a submission as JSON."""

    answer: dict[str, Any]
    job_id: JobId | None = None  #: what to enqueue when the answer was sent; None if an earlier request got the answer


@dataclass(frozen=True, slots=True)
class Submitting:
    """The work of `submit`, for one order."""

    order: Order

    def __call__(self, services: Services, owner_id: str, submission: RawSubmission, key: str | None) -> Accepted:
        return submit(services, owner_id, self.order, submission, key)


def submit(services: Services, owner_id: str, order: Order, submission: RawSubmission, key: str | None) -> Accepted:
    """Validate a submission, and store it with its datasets and its key in one transaction.

    The caller enqueues it. If the caller dies before that, the sweep does.
    """
    request = None
    if key is not None:
        request = idempotency.RequestKey(owner_id, key, idempotency.digest(order.about, submission.digest()))
    if request is not None and (answer := _find_answer(services, request)) is not None:
        return Accepted(answer)
    if services.settings.max_selections is not None:
        with services.database.session_scope() as session:
            check_quota(session, owner_id, services.settings)
    desk = Desk(services, owner_id, lambda id_, field: _find_dataset(services, owner_id, id_, field))
    valid = order.validate(submission, desk)
    with services.database.session_scope() as session:
        if request is not None:
            idempotency.hold_key(session, request)
            if (answer := idempotency.find_answer(session, request)) is not None:
                return Accepted(answer)
        job = _store(services, session, owner_id, order, valid)
        answer = order.present(session, job)
        job_id = JobId(job.id, 1, job.spec.get("model"))
        if request is not None:
            idempotency.keep_answer(session, request, answer)
    return Accepted(answer, job_id)


def _find_answer(services: Services, request: idempotency.RequestKey) -> dict[str, Any] | None:
    with services.database.session_scope() as session:
        return idempotency.find_answer(session, request)


def _find_dataset(services: Services, owner_id: str, dataset_id: str, field: str) -> KnownDataset:
    with services.database.session_scope() as session:
        _check_dataset(session, owner_id, dataset_id, field)
        return KnownDataset(dataset_id, load_rows(session, dataset_id))


def _check_dataset(session: Session, owner_id: str, dataset_id: str, field: str) -> None:
    if not owns_dataset(session, owner_id, dataset_id, is_labelled=True):
        raise UnknownDataset.at(f"/{field}", "there is no dataset of labelled texts with this id")


def _store(services: Services, session: Session, owner_id: str, order: Order, valid: ValidJob) -> Job:
    sources = {"dataset_id": valid.dataset, "test_dataset_id": valid.test}
    known = {source.id: field for field, source in reversed(sources.items()) if isinstance(source, KnownDataset)}
    # In the order in which a deletion locks. A dataset may have been deleted since it was read.
    for id_ in sorted(known):
        _check_dataset(session, owner_id, id_, known[id_])
    reserved = len(json.dumps(valid.spec).encode()) + valid.answer_bytes
    added = sum(_weigh(session, owner_id, source) for source in sources.values() if source is not None)
    added += 0 if valid.pool is None else len(valid.pool.data)
    check_bytes(session, owner_id, services.settings, reserved + added)
    dataset_id = _store_source(session, owner_id, valid.dataset)
    test_id = None if valid.test is None else _store_source(session, owner_id, valid.test)
    warnings = tuple(
        f"{field}: {warning}"
        for field, source in (("dataset", valid.dataset), ("test", valid.test))
        if source is not None
        for warning in _warnings_of(session, source)
    )
    hold_quota(session, owner_id, services.settings)  # after the rows, because other submissions of the owner now wait
    statement = insert(Job).values(
        id=new_id(order.prefix),
        owner_id=owner_id,
        kind=order.kind,
        name=valid.name,
        source=valid.source,
        dataset_id=dataset_id,
        test_dataset_id=test_id,
        spec=valid.spec,
        reserved_bytes=reserved,
        request_id=context.get("request_id"),
        warnings=[*warnings, *valid.warnings],
    )
    job = session.execute(statement.returning(Job)).scalar_one()
    if valid.pool is not None:
        store_pool(session, job.id, valid.pool)
    check_bytes(session, owner_id, services.settings)
    return job


def _weigh(session: Session, owner_id: str, source: Source) -> int:
    """Size of the rows that will be stored (bytes)."""
    if isinstance(source, KnownDataset) or (
        isinstance(source, ParsedDataset) and find_equal_dataset(session, owner_id, source) is not None
    ):
        return 0
    return weigh_rows(source)


def _store_source(session: Session, owner_id: str, source: Source) -> str:
    if isinstance(source, KnownDataset):
        return source.id
    if isinstance(source, ReadTexts):
        return store_texts(session, owner_id, source)
    return store_dataset(session, owner_id, source)


def _warnings_of(session: Session, source: Source) -> Sequence[str]:
    if isinstance(source, KnownDataset):
        return load_warnings(session, source.id)
    return source.warnings

"""A submission of a job: checked, and stored with its datasets and its key in one transaction."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import status
from sqlalchemy import insert
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse, Response

from app.errors import UnknownDataset
from app.ids import new_id, path_of
from app.intake import idempotency
from app.intake.bodies import Body
from app.intake.receiving import Upload
from app.jobs.view import View
from app.lifecycle.enqueueing import enqueueing
from app.logs import context
from app.queue import JobId
from app.services import Services
from app.store.datasets import (
    find_equal_dataset,
    find_label_column,
    load_rows,
    load_warnings,
    owns_dataset,
    store_dataset,
    store_texts,
    weigh_rows,
)
from app.store.pools import PackedPool, store_pool
from app.store.quota import check_bytes, check_quota, hold_quota
from app.store.tables import Job
from app.web.openapi import refusals, sends
from lens_engine.reading import ParsedDataset, ReadTexts
from lens_engine.reading.table import ColumnNames
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that is already stored."""

    id: str
    examples: tuple[Example, ...] = ()  #: none if they are not needed
    label_column: ColumnNames | None = None  #: None if it is not known


Labelled = ParsedDataset | KnownDataset


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that was checked, ready to store."""

    view: View
    spec: dict[str, Any]
    dataset: Labelled | ReadTexts
    test: Labelled | None = None
    name: str | None = None
    source: dict[str, Any] | None = None  #: what is judged or asked
    num_labels: int | None = None  #: among which a selection chooses
    warnings: tuple[str, ...] = ()  #: about the rows and their use, and what was taken by default
    answer_bytes: int = 0  #: size of what the job will write for its rows
    pool: PackedPool | None = None  #: of the prompt that is asked; None if it finds no demonstrations


Check = Callable[[Services, str, Body], NewJob]
"""(services, owner id, body) -> the job. Raises AppError, which names all faults. It can be pickled."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a submission as JSON."""

    answer: dict[str, Any]
    job_id: JobId | None = None  #: what to enqueue when the answer was sent; None if an earlier request got the answer


def submitted(*, conflict: str = "", codes: tuple[int, ...] = ()) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of a route that takes submissions. `conflict`: further reasons for 409."""
    in_flight = "Another request with this Idempotency-Key is still being answered."
    return {
        202: sends("Location", "Retry-After", "Idempotent-Replayed"),
        **refusals(
            *(400, 401, 413, 415, 422, 503, *codes),
            conflict=f"{in_flight} {conflict}".strip(),
            is_conflict_brief=True,
        ),
    }


def answer_submission(upload: Upload, key: str | None, view: View, check: Check, about: str = "") -> Response:
    """Submit, and answer with the queued job, which is enqueued afterwards. See `submit` for the arguments."""
    accepted = upload.do(partial(submit, key=key, check=check, about=about))
    services = upload.services
    headers = {
        "Location": path_of(view.kind, accepted.answer["id"]),
        "Retry-After": str(services.settings.retry_after_seconds),
    }
    if accepted.job_id is None:
        headers["Idempotent-Replayed"] = "true"
    background = enqueueing(services, accepted.job_id)
    return JSONResponse(accepted.answer, status.HTTP_202_ACCEPTED, headers, background=background)


def submit(
    services: Services, owner_id: str, body: Body, *, key: str | None, check: Check, about: str = ""
) -> Accepted:
    """Check a submission, and store the job with its datasets and its key in one transaction.

    The caller enqueues it. If the caller dies before that, the sweep does.

    Args:
        key: the Idempotency-Key.
        about: what the request says besides its body.
    """
    request = None
    if key is not None:
        request = idempotency.RequestKey(owner_id, key, idempotency.digest(about, body.digest()))
        with services.database.session_scope() as session:
            if (answer := idempotency.find_answer(session, request)) is not None:
                return Accepted(answer)
    if services.settings.max_selections is not None:
        with services.database.session_scope() as session:
            check_quota(session, owner_id, services.settings)
    new = check(services, owner_id, body)
    with services.database.session_scope() as session:
        if request is not None:
            idempotency.hold_key(session, request)
            if (answer := idempotency.find_answer(session, request)) is not None:
                return Accepted(answer)
        job = _store(services, session, owner_id, new)
        answer = new.view.present(session, job, None).model_dump(mode="json")
        if request is not None:
            idempotency.keep_answer(session, request, answer)
        return Accepted(answer, JobId(job.id, 1, job.spec.get("model")))


def find_dataset(services: Services, owner_id: str, dataset_id: str, field: str) -> KnownDataset:
    """A dataset of labelled texts that the field of a body names.

    Raises:
        UnknownDataset: the owner has no such dataset.
    """
    with services.database.session_scope() as session:
        _check_dataset(session, owner_id, dataset_id, field)
        return KnownDataset(dataset_id, load_rows(session, dataset_id), find_label_column(session, dataset_id))


def _check_dataset(session: Session, owner_id: str, dataset_id: str, field: str) -> None:
    if not owns_dataset(session, owner_id, dataset_id, is_labelled=True):
        raise UnknownDataset.at(f"/{field}", "there is no dataset of labelled texts with this id")


def _store(services: Services, session: Session, owner_id: str, new: NewJob) -> Job:
    sources = {"dataset": new.dataset, **({} if new.test is None else {"test": new.test})}
    fields = {"dataset": "dataset_id", "test": "test_dataset_id"}
    known = {one.id: fields[part] for part, one in reversed(sources.items()) if isinstance(one, KnownDataset)}
    # In the order in which a deletion locks. A dataset may have been deleted since it was read.
    for id_ in sorted(known):
        _check_dataset(session, owner_id, id_, known[id_])
    reserved = len(json.dumps(new.spec).encode()) + new.answer_bytes
    added = sum(_weigh(session, owner_id, source) for source in sources.values())
    check_bytes(session, owner_id, services.settings, reserved + added)
    ids = {part: _store_source(session, owner_id, source) for part, source in sources.items()}
    warnings = tuple(f"{part}: {one}" for part, source in sources.items() for one in _warnings_of(session, source))
    hold_quota(session, owner_id, services.settings)  # after the rows, because other submissions of the owner now wait
    statement = insert(Job).values(
        id=new_id(new.view.prefix),
        owner_id=owner_id,
        kind=new.view.kind,
        name=new.name,
        source=new.source,
        dataset_id=ids["dataset"],
        test_dataset_id=ids.get("test"),
        spec=new.spec,
        num_labels=new.num_labels,
        reserved_bytes=reserved,
        request_id=context.get("request_id"),
        warnings=[*warnings, *new.warnings],
    )
    job = session.execute(statement.returning(Job)).scalar_one()
    if new.pool is not None:
        store_pool(session, job.id, new.pool)
    check_bytes(session, owner_id, services.settings)
    return job


def _weigh(session: Session, owner_id: str, source: Labelled | ReadTexts) -> int:
    """Size of the rows that will be stored (bytes)."""
    if isinstance(source, KnownDataset) or (
        isinstance(source, ParsedDataset) and find_equal_dataset(session, owner_id, source) is not None
    ):
        return 0
    return weigh_rows(source)


def _store_source(session: Session, owner_id: str, source: Labelled | ReadTexts) -> str:
    if isinstance(source, KnownDataset):
        return source.id
    if isinstance(source, ReadTexts):
        return store_texts(session, owner_id, source)
    return store_dataset(session, owner_id, source)


def _warnings_of(session: Session, source: Labelled | ReadTexts) -> Sequence[str]:
    if isinstance(source, KnownDataset):
        return load_warnings(session, source.id)
    return source.warnings

"""Submits a selection: checks its spec and its rows, and stores it with its datasets and its key in one transaction."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.orm import Session
from structlog.contextvars import get_contextvars

from app.errors import BadRequest, Conflict, Unprocessable, invalid_inputs
from app.ids import SELECTION, new_id
from app.lifecycle.spec import StoredSpec
from app.selections.bodies import Body, FormBody
from app.selections.datasets import KnownDataset, Labelled, check_dataset, read_files, read_rows
from app.selections.limits import CheckedSpec, check_spec
from app.selections.schemas import present
from app.selections.submission_schemas import SelectionSpec, SubmissionBody
from app.settings import Settings
from app.store.datasets import find_equal_dataset, lock_rows, store_dataset, weigh_rows
from app.store.queue import JobId
from app.store.quota import check_bytes, check_quota, hold_quota
from app.store.services import Services
from app.store.tables import IdempotencyKey, Job
from app.web.validation import read_model
from lens_engine.files import ParsedDataset
from lens_engine.prompt.verbalizer import warn_of_silent
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import deal_within_budget

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
    """The answer that the key has got, as it was sent. Raises Unprocessable if it was for a different body."""
    found = session.execute(_FIND, {"owner_id": request.owner_id, "key": request.key}).one_or_none()
    if found is None:
        return None
    if found.body_sha256 != request.body_sha256:
        raise Unprocessable(
            "this Idempotency-Key was used with a different body; use a new key", code="idempotency-mismatch"
        )
    answer: dict[str, Any] = found.answer
    return answer


def hold_key(session: Session, request: RequestKey) -> dict[str, Any] | None:
    """As `find_answer`, and lock the key until the transaction ends. Raises Conflict if another request has it."""
    if not session.scalar(_HOLD, {"name": f"{request.owner_id}\n{request.key}"}):
        raise Conflict(
            "another request with this Idempotency-Key is in progress; repeat the request later",
            headers={"Retry-After": "1"},
            code="idempotency-in-flight",
        )
    return find_answer(session, request)


_MOST_SPEC_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class NewSelection:
    """A selection that was checked, ready to store."""

    spec: dict[str, Any]
    num_labels: int  #: among which it chooses
    dataset: Labelled
    test: Labelled | None = None
    name: str | None = None
    warnings: tuple[str, ...] = ()  #: about the rows and their use, and what was taken by default


def check_selection(services: Services, owner_id: str, body: Body) -> NewSelection:
    """Read and check the spec and the rows of a submission."""
    if isinstance(body, FormBody):
        spec = check_spec(read_model(SelectionSpec, body.spec, "spec"), services.settings)
        rows: tuple[Labelled, Labelled | None] = read_files(body, spec.limits)
    else:
        given = read_model(SubmissionBody, body.value)
        spec = check_spec(given.spec, services.settings)
        rows = read_rows(services, owner_id, given, spec.limits)
    return _complete(spec, *rows)


def _complete(spec: CheckedSpec, dataset: Labelled, test: Labelled | None) -> NewSelection:
    """Complete the spec, and check that the dataset has the labels and the number of rows that the spec needs."""
    with invalid_inputs(dataset=dataset, test=test):
        column = dataset.columns[1] if isinstance(dataset, ParsedDataset) else dataset.label_column
        joins = spec.config.labels.join_spellings
        wordings = spec.task.complete(dataset.examples, join_spellings=joins, label_column=column)
        test_rows = None if test is None else test.examples
        rows = deal_within_budget(
            Problem(wordings.task, dataset.examples, test_rows, wordings.alternatives), spec.config
        )
    stored = StoredSpec.of(spec.model, wordings, spec.preset, spec.config)
    if (size := len(stored.model_dump_json().encode())) > _MOST_SPEC_BYTES:  # each poll of the selection sends it
        raise Unprocessable.at(
            "/spec",
            f"the spec has {size:,} bytes with its label words, and at most {_MOST_SPEC_BYTES:,} are allowed; shorten "
            "the templates, the instructions, the labels or their words",
        )
    words = (f"{one} in `verbalizer`" for one in warn_of_silent(wordings.task.verbalizer))
    warnings = (f"spec: {one}" for one in (*spec.task.list_defaults(wordings.task), *words, *spec.warnings))
    return NewSelection(
        stored.model_dump(mode="json"),
        len(rows.task.labels),
        dataset,
        test,
        spec.name,
        warnings=(*warnings, *rows.notes),
    )


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
            session.execute(insert(IdempotencyKey).values(**asdict(request), job_id=answer["id"], answer=answer))
        return Accepted(answer, JobId(job.id, 1, job.model))


def _insert(session: Session, settings: Settings, owner_id: str, new: NewSelection) -> Job:
    sources = {"dataset": new.dataset, **({} if new.test is None else {"test": new.test})}
    known = {one.id: one.field for one in reversed(sources.values()) if isinstance(one, KnownDataset)}
    # In the order in which a deletion locks. A dataset may have been deleted since it was read.
    for id_ in sorted(known):
        check_dataset(session, owner_id, id_, known[id_])
    parsed = [one for one in sources.values() if isinstance(one, ParsedDataset)]
    lock_rows(session, owner_id, parsed)
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

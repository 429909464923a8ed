"""Submits a selection: checks its spec and its rows, and stores it with its datasets and its key in one transaction."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.orm import Session
from structlog.contextvars import get_contextvars

from app.errors import BadRequest, Conflict, Unprocessable
from app.ids import SELECTION, new_id
from app.lifecycle.spec import StoredSpec
from app.selections.bodies import Body, FormBody, name_columns, parsing_limits
from app.selections.limits import bound_budget, check_model_name, find_prices, invalid_inputs, list_excesses
from app.selections.schemas import present
from app.selections.submission_schemas import SelectionSpec, SubmissionBody
from app.settings import Settings
from app.store.datasets import (
    find_equal_dataset,
    find_label_column,
    load_rows,
    load_warnings,
    owns_dataset,
    store_dataset,
    weigh_rows,
)
from app.store.queue import JobId
from app.store.quota import check_bytes, check_quota, hold_quota
from app.store.services import Services
from app.store.tables import IdempotencyKey, Job
from app.web.validation import read_model
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import Faults, InvalidConfig
from lens_engine.files import ParsedDataset, parse_inline
from lens_engine.files.table import ColumnNames
from lens_engine.presets import resolve_config
from lens_engine.prompt.embedder import AUTO
from lens_engine.prompt.request import NO_INSTRUCTION, TaskRequest, read_instructions, read_templates
from lens_engine.prompt.template import Template
from lens_engine.prompt.verbalizer import Verbalizer, warn_of_silent
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import deal_within_budget, refuse_unpriced
from lens_engine.types import Example

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


def keep_answer(session: Session, request: RequestKey, answer: dict[str, Any]) -> None:
    """Store the answer to a request under its key."""
    session.execute(insert(IdempotencyKey).values(**asdict(request), job_id=answer["id"], answer=answer))


_MOST_SPEC_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that is already stored."""

    id: str
    field: str  #: of the body, which names it
    examples: tuple[Example, ...]
    label_column: str | None  #: None if it is not known
    warnings: Sequence[str]  #: of its upload


Labelled = ParsedDataset | KnownDataset


def find_dataset(services: Services, owner_id: str, dataset_id: str, field: str) -> KnownDataset:
    """A dataset of labelled texts that the field of a body names. Raises Unprocessable as `check_dataset`."""
    with services.database.session_scope() as session:
        check_dataset(session, owner_id, dataset_id, field)
        rows, column = load_rows(session, dataset_id), find_label_column(session, dataset_id)
        return KnownDataset(dataset_id, field, rows, column, load_warnings(session, dataset_id))


def check_dataset(session: Session, owner_id: str, dataset_id: str, field: str) -> None:
    """Lock a dataset that a body names against deletion. Raises Unprocessable if the owner has no such dataset."""
    if not owns_dataset(session, owner_id, dataset_id):
        raise Unprocessable.at(
            f"/{field}", "there is no dataset of labelled texts with this id", code="unknown-dataset"
        )


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
        spec = _check_spec(read_model(SelectionSpec, body.spec, "spec"), services.settings)
        rows = read_files(body, services.settings, skips_unlabelled=spec.skips_unlabelled)
        return _complete(spec, *rows)
    given = read_model(SubmissionBody, body.value)
    spec = _check_spec(given.spec, services.settings)
    limits = parsing_limits(services.settings, skips_unlabelled=spec.skips_unlabelled)

    def read(prefix: str, dataset: Labelled | None = None) -> Labelled | None:
        rows, dataset_id = getattr(given, f"{prefix}examples"), getattr(given, f"{prefix}dataset_id")
        if rows is not None:
            columns = name_columns(_columns_of(dataset, given.columns))
            return parse_inline(rows, limits, field=f"{prefix}examples", columns=columns)
        return None if dataset_id is None else find_dataset(services, owner_id, dataset_id, f"{prefix}dataset_id")

    return _complete(spec, *_read_both(partial(read, ""), partial(read, "test_")))


def read_files(form: FormBody, settings: Settings, *, skips_unlabelled: bool) -> tuple[Labelled, Labelled | None]:
    """Read the file of the dataset, and that of the test rows with the same columns if there is one.

    `skips_unlabelled`: whether any share of the rows may lack a label.
    """
    if "dataset" not in form.files:
        raise Unprocessable.at("/dataset", "`dataset` is missing; send a file")
    limits = parsing_limits(settings, skips_unlabelled=skips_unlabelled)
    return _read_both(
        lambda: form.parse("dataset", limits, form.columns),
        lambda dataset: form.parse("test", limits, _columns_of(dataset, form.columns)),
    )


def _columns_of(dataset: Labelled | None, given: Mapping[str, ColumnNames]) -> Mapping[str, ColumnNames]:
    """The columns of test rows: those of the dataset, whose texts they are compared with."""
    if not isinstance(dataset, ParsedDataset):
        return given
    return dict(zip(("text_column", "label_column"), dataset.columns, strict=True))


def _read_both(
    read_dataset: Callable[[], Labelled | None], read_test: Callable[[Labelled | None], Labelled | None]
) -> tuple[Labelled, Labelled | None]:
    """Read the dataset and the test rows. A refusal names the faults of both."""
    faults = Faults()
    dataset = test = None
    with invalid_inputs():
        with faults.noting():
            dataset = read_dataset()
        with faults.noting():
            test = read_test(dataset)
        faults.refuse()
    assert dataset is not None
    return dataset, test


@dataclass(frozen=True, slots=True)
class _CheckedSpec:
    """A checked spec, which the labels of the dataset complete."""

    model: str
    task: TaskRequest
    preset: PresetName
    config: SelectionConfig
    name: str | None
    warnings: tuple[str, ...] = ()  #: limits of the service that the config has by default

    @property
    def skips_unlabelled(self) -> bool:
        """Whether any share of the rows may lack a label."""
        return self.config.rows.unlabelled == "skip"


def _check_spec(spec: SelectionSpec, settings: Settings) -> _CheckedSpec:
    """Check model, templates, instructions, label words and options.

    An unknown model is refused alone: the limits on options are those of the model. Any other refusal names all errors.
    """
    model = check_model_name(spec.model, settings)
    faults, verbalizer, task, config = Faults(), None, None, None
    templates: tuple[Template, ...] = ()
    instructions: tuple[str, ...] = NO_INSTRUCTION
    with invalid_inputs():
        with faults.noting():
            templates = read_templates(spec.template)
        with faults.noting():
            verbalizer = None if spec.verbalizer is None else Verbalizer(spec.verbalizer)
        with faults.noting():
            instructions = read_instructions(spec.instruction)
        with faults.noting():
            task = TaskRequest(templates, verbalizer, spec.separator, instructions)
        with faults.noting():
            config = resolve_config(spec.preset, spec.options)
            faults.found += [*list_excesses(config.budget, model, settings), *_list_folders(config)]
            has_prices = find_prices(model, settings) is not None
            refuse_unpriced(config, is_served=model in settings.endpoints, has_prices=has_prices)
        faults.refuse()
    assert task is not None
    assert config is not None
    bounded, warnings = bound_budget(config, model, settings)
    return _CheckedSpec(model, task, spec.preset, bounded, spec.name, warnings)


def _list_folders(config: SelectionConfig) -> list[InvalidConfig]:
    """The refusal of a folder of this machine, which is for the operator to name."""
    if config.classifier.embeddings in (None, AUTO):
        return []
    detail = "classifier.embeddings must be auto or null here; the operator of the service names the embedder"
    return [InvalidConfig(detail, field="options.classifier.embeddings")]


def _complete(spec: _CheckedSpec, dataset: Labelled, test: Labelled | None) -> NewSelection:
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

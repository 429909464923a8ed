"""Datasets as they are sent, named, stored and shown. SQL is in `app/store/datasets.py`, HTTP in the endpoints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache
from pydantic import Field
from sqlalchemy.orm import Session

from app.errors import Conflict, NotFound, Unprocessable, invalid_inputs
from app.ids import is_id, path_of
from app.selections.bodies import Body, FormBody, JsonBody, name_columns
from app.selections.limits import parsing_limits
from app.selections.parts import Name, RowsBody
from app.selections.submission_schemas import SubmissionBody
from app.settings import Settings
from app.store import datasets as repository
from app.store.quota import check_bytes, lock_owner
from app.store.services import Services
from app.store.tables import Dataset
from app.web.validation import Outgoing, read_model
from lens_engine.errors import Faults
from lens_engine.files import ParsedDataset, ParsingLimits, parse_inline
from lens_engine.files.table import ColumnNames
from lens_engine.model.local.model_files import CountTokens, find_token_counter
from lens_engine.types import Example

CORRECTED = (
    "changed or left out by hand; to correct only what the classifier doubted raises its figure by itself, and only a "
    "test file that was not corrected tells whether it is better"
)
"""End of a note on a file whose labels a person has corrected."""


def is_correction(note: str) -> bool:
    """Whether a note says that a person has corrected labels."""
    return note.endswith(CORRECTED)


class DatasetBody(RowsBody):
    """The JSON body of POST /datasets. A file is sent in a form."""

    examples: list[Any] = Field(description='Rows: objects with "text" and "label" or other usual names.')
    name: Name | None = Field(default=None, description="Display name.")


class LabelRows(Outgoing):
    """A label and its number of rows."""

    label: str = Field(description="Label.")
    rows: int = Field(description="Number of rows.")


class DatasetOut(Outgoing):
    """A stored dataset."""

    id: str = Field(description="Id; a submission can name it as `dataset_id` instead of sending rows.")
    name: str | None = Field(description="Display name; that of the file if it came in one.")
    format: str = Field(description="Shape of the upload: csv, jsonl, json, text, workbook or inline.")
    rows: int = Field(description="Number of rows.")
    bytes: int = Field(description="Size of the texts and labels (bytes).")
    labels: list[LabelRows] = Field(description="Labels, the most frequent first.")
    is_kept: bool = Field(
        description="Whether it was stored by POST /datasets, so that it stays when no job uses it any more."
    )
    warnings: list[str] = Field(description="Warnings about accepted but unusual content.")
    created_at: datetime = Field(description="Time of the upload.")


class DatasetPage(Outgoing):
    """One page of datasets, newest first."""

    items: list[DatasetOut] = Field(description="Datasets, newest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A dataset as JSON. `is_new`: this request stored it."""

    answer: dict[str, Any]
    is_new: bool


def store(services: Services, owner_id: str, body: Body) -> StoredDataset:
    """Read the rows of a body and store them, unless equal ones are there already."""
    parsed, name = _read(body, services.settings)
    with services.database.session_scope() as session:
        return keep_rows(session, owner_id, services.settings, parsed, name)


def keep_rows(
    session: Session, owner_id: str, settings: Settings, parsed: ParsedDataset, name: str | None = None
) -> StoredDataset:
    """Store rows, unless equal ones are there. Raises ContentTooLarge if the owner has too many bytes stored."""
    repository.lock_rows(session, owner_id, [parsed])
    found = repository.find_equal_dataset(session, owner_id, parsed)
    if found is None:
        check_bytes(session, owner_id, settings, repository.weigh_rows(parsed))
    dataset_id = found or repository.insert_dataset(session, owner_id, parsed)
    lock_owner(session, owner_id, settings)
    check_bytes(session, owner_id, settings)
    answer = present(repository.keep_dataset(session, dataset_id, name)).model_dump(mode="json")
    return StoredDataset(answer, is_new=found is None)


def _read(body: Body, settings: Settings) -> tuple[ParsedDataset, str | None]:
    limits = parsing_limits(settings, skips_unlabelled=True)  # what is stored is not yet selected from
    if isinstance(body, JsonBody):
        given = read_model(DatasetBody, body.value)
        with invalid_inputs():
            return parse_inline(given.examples, limits, columns=name_columns(given.columns)), given.name
    return read_files(body, limits)[0], body.names.get("dataset")


def get(session: Session, owner_id: str, dataset_id: str) -> Dataset:
    """Return a dataset of this owner. Raises NotFound if the owner has no dataset with this id."""
    found = repository.find_dataset(session, owner_id, dataset_id) if is_id(dataset_id) else None
    if found is None:
        raise NotFound("there is no dataset with this id")
    return found


_counters = LRUCache[str, CountTokens](maxsize=2)
"""Of the models that were asked for last. A tokenizer takes 80 MiB while it is read, and seconds."""


def find_counter(settings: Settings, model: str) -> CountTokens | None:
    """What counts the tokens of an offered model; None without its tokenizer. Call it in the reader alone."""
    served = settings.endpoints.get(model)
    reference = served.tokenizer if served else settings.allowed_models[model]
    if reference is None:
        return None
    if reference not in _counters and (found := find_token_counter(reference, settings.cache_dir)) is not None:
        _counters[reference] = found
    return _counters.get(reference)


def delete(session: Session, owner_id: str, dataset_id: str) -> None:
    """Delete a dataset. Raises NotFound if the owner has no dataset with this id and Conflict if a job uses it."""
    get(session, owner_id, dataset_id)
    if not repository.delete_dataset(session, owner_id, dataset_id):
        job = repository.find_user(session, dataset_id)
        what = "a job uses the dataset" if job is None else f"{path_of(job.id)} uses the dataset"
        raise Conflict(f"{what}; delete what uses it first", code="dataset-in-use")


def present(dataset: Dataset) -> DatasetOut:
    """Build the API's view of a dataset."""
    counts = sorted(dataset.label_counts.items(), key=lambda one: (-one[1], one[0]))
    return DatasetOut(
        id=dataset.id,
        name=dataset.name,
        format=dataset.format,
        rows=dataset.num_rows,
        bytes=dataset.num_bytes,
        labels=[{"label": label, "rows": rows} for label, rows in counts],
        is_kept=dataset.is_kept,
        warnings=dataset.warnings,
        created_at=dataset.created_at,
    )


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that is already stored."""

    id: str
    field: str  #: of the body, which names it
    examples: tuple[Example, ...]
    label_column: str | None  #: None if it is not known
    warnings: Sequence[str]  #: of its upload


Labelled = ParsedDataset | KnownDataset
_Rows = TypeVar("_Rows", bound=Labelled)


def find_dataset(services: Services, owner_id: str, dataset_id: str, field: str) -> KnownDataset:
    """A dataset of labelled texts that the field of a body names. Raises Unprocessable as `check_dataset`."""
    with services.database.session_scope() as session:
        check_dataset(session, owner_id, dataset_id, field)
        rows, column = repository.load_rows(session, dataset_id), repository.find_label_column(session, dataset_id)
        return KnownDataset(dataset_id, field, rows, column, repository.load_warnings(session, dataset_id))


def check_dataset(session: Session, owner_id: str, dataset_id: str, field: str) -> None:
    """Lock a dataset that a body names against deletion. Raises Unprocessable if the owner has no such dataset."""
    if not repository.owns_dataset(session, owner_id, dataset_id):
        raise Unprocessable.at(
            f"/{field}", "there is no dataset of labelled texts with this id", code="unknown-dataset"
        )


def read_files(form: FormBody, limits: ParsingLimits) -> tuple[ParsedDataset, ParsedDataset | None]:
    """Read the file of the dataset, and that of the test rows with the same columns if there is one."""
    if "dataset" not in form.files:
        raise Unprocessable.at("/dataset", "`dataset` is missing; send a file")
    return _read_both(
        lambda: form.parse("dataset", limits, form.columns),
        lambda dataset: form.parse("test", limits, _columns_of(dataset, form.columns)),
    )


def read_rows(
    services: Services, owner_id: str, given: SubmissionBody, limits: ParsingLimits
) -> tuple[Labelled, Labelled | None]:
    """Read the rows of a JSON body, or of the datasets that it names, and its test rows if there are any."""

    def read(prefix: str, dataset: Labelled | None = None) -> Labelled | None:
        rows, dataset_id = getattr(given, f"{prefix}examples"), getattr(given, f"{prefix}dataset_id")
        if rows is not None:
            columns = name_columns(_columns_of(dataset, given.columns))
            return parse_inline(rows, limits, field=f"{prefix}examples", columns=columns)
        return None if dataset_id is None else find_dataset(services, owner_id, dataset_id, f"{prefix}dataset_id")

    return _read_both(partial(read, ""), partial(read, "test_"))


def _columns_of(dataset: Labelled | None, given: Mapping[str, ColumnNames]) -> Mapping[str, ColumnNames]:
    """The columns of test rows: those of the dataset, whose texts they are compared with."""
    if not isinstance(dataset, ParsedDataset):
        return given
    return dict(zip(("text_column", "label_column"), dataset.columns, strict=True))


def _read_both(
    read_dataset: Callable[[], _Rows | None], read_test: Callable[[_Rows | None], _Rows | None]
) -> tuple[_Rows, _Rows | None]:
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

"""All SQL of datasets. Queries on behalf of a client filter by owner."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, func, insert, or_, select, text, update
from sqlalchemy.orm import Session

from app.ids import new_id
from app.store.tables import Dataset, Job
from app.store.tables import Example as StoredExample
from lens_engine.classifier.classifier import InputFormat
from lens_engine.files import ParsedDataset
from lens_engine.rows.quotas import share_proportionally, take_quotas
from lens_engine.types import Example

ROW_BYTES = 150
"""What Postgres takes for a row of a dataset besides its text and label: key, index, header (bytes)."""

_PAGE_BYTES = 4 * 2**20
"""Size from which a statement inserts no further row (bytes)."""

SAMPLE_ROWS, SAMPLE_CHARACTERS = 20_000, 4_000_000
"""Largest sample of a dataset that advice is worked out on."""

IS_USED = exists().where(or_(Job.dataset_id == Dataset.id, Job.test_dataset_id == Dataset.id))

_INSERT_EXAMPLES = text(
    "INSERT INTO examples (dataset_id, row, text, label) "
    "SELECT :dataset_id, * FROM unnest(CAST(:rows AS int[]), CAST(:texts AS text[]), CAST(:labels AS text[]))"
)


def lock_rows(session: Session, owner_id: str, uploads: Sequence[ParsedDataset]) -> None:
    """Let equal rows that the owner sends meanwhile wait for the end of this transaction; always in the same order."""
    for name in sorted({f"rows of {owner_id}: {one.sha256}" for one in uploads}):
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def store_dataset(session: Session, owner_id: str, parsed: ParsedDataset) -> str:
    """Return the id of the owner's dataset with these rows, which is stored unless it is there already."""
    return find_equal_dataset(session, owner_id, parsed) or insert_dataset(session, owner_id, parsed)


def find_equal_dataset(session: Session, owner_id: str, parsed: ParsedDataset) -> str | None:
    """Find a dataset with the same rows, format, columns, dialect and warnings. It is locked as by `owns_dataset`.

    A dataset that another transaction is about to delete is not found.
    """
    query = select(Dataset.id).where(
        Dataset.owner_id == owner_id,
        Dataset.sha256 == parsed.sha256,
        Dataset.format == parsed.format,
        Dataset.num_rows == len(parsed.examples),
        Dataset.warnings == list(parsed.warnings),
        Dataset.input.is_not_distinct_from(_describe_input(parsed)),
    )
    return session.scalar(query.limit(1).with_for_update(read=True, key_share=True, skip_locked=True))


def insert_dataset(session: Session, owner_id: str, parsed: ParsedDataset) -> str:
    """Store a dataset with its rows and return its id."""
    dataset_id = new_id("ds")
    session.execute(
        insert(Dataset).values(
            id=dataset_id,
            owner_id=owner_id,
            sha256=parsed.sha256,
            format=parsed.format,
            num_rows=len(parsed.examples),
            num_bytes=sum(map(_weigh, parsed.examples)),
            label_counts=dict(Counter(example.label for example in parsed.examples)),
            warnings=list(parsed.warnings),
            input=_describe_input(parsed),
        )
    )
    for some in _cut(parsed.examples):
        columns = {"rows": [one.row for one in some], "texts": [one.text for one in some]}
        labels = [one.label for one in some]
        session.execute(_INSERT_EXAMPLES, {"dataset_id": dataset_id, **columns, "labels": labels})
    return dataset_id


def _cut(examples: Sequence[Example]) -> Iterator[list[Example]]:
    """The rows in pieces that one statement inserts far within its time limit."""
    piece, size = list[Example](), 0
    for example in examples:
        piece.append(example)
        size += _weigh(example) + ROW_BYTES
        if size >= _PAGE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _describe_input(parsed: ParsedDataset) -> dict[str, Any] | None:
    if (dialect := parsed.dialect) is None:
        return None
    found = InputFormat(text_column=parsed.columns[0], delimiter=dialect.delimiter, encoding=dialect.encoding)
    return {**found.model_dump(mode="json"), "label_column": parsed.columns[1]}


def find_label_column(session: Session, dataset_id: str) -> str | None:
    """The column of the labels; None for rows that were in no file."""
    return (session.scalar(select(Dataset.input).where(Dataset.id == dataset_id)) or {}).get("label_column")


def weigh_rows(rows: ParsedDataset) -> int:
    """Size of rows that are not stored yet (bytes), as a dataset notes them."""
    return sum(map(_weigh, rows.examples)) + ROW_BYTES * len(rows.examples)


def _weigh(example: Example) -> int:
    return len(example.text.encode()) + len(example.label.encode())


def load_rows(
    session: Session, dataset_id: str, *which: ColumnElement[bool], limit: int | None = None
) -> tuple[Example, ...]:
    """Read all rows of a labelled dataset, or some of them, in upload order."""
    columns = select(StoredExample.row, StoredExample.text, StoredExample.label)
    own = columns.where(StoredExample.dataset_id == dataset_id, *which)
    return tuple(Example(*row) for row in session.execute(own.order_by(StoredExample.row).limit(limit)))


def load_rows_from(session: Session, dataset_id: str, first: int, limit: int) -> tuple[Example, ...]:
    """Read up to `limit` rows of a labelled dataset, from the row with this number on."""
    return load_rows(session, dataset_id, StoredExample.row >= first, limit=limit)


def count_rows(session: Session, dataset_id: str) -> int:
    """The number of rows of a dataset."""
    return session.execute(select(Dataset.num_rows).where(Dataset.id == dataset_id)).scalar_one()


def load_sample(session: Session, dataset_id: str) -> tuple[Example, ...]:
    """Read a labelled dataset for advice on it: all rows, or of many a random sample, with the labels in proportion."""
    sizes = select(StoredExample.row, StoredExample.label, func.char_length(StoredExample.text))
    found = session.execute(sizes.where(StoredExample.dataset_id == dataset_id).order_by(StoredExample.row)).all()
    num_characters = sum(length for *_, length in found)
    most = min(SAMPLE_ROWS, SAMPLE_CHARACTERS * len(found) // max(num_characters, 1))
    if len(found) <= most:
        return load_rows(session, dataset_id)
    quotas = share_proportionally(max(most, 1), Counter(label for _, label, _ in found))
    chosen, _ = take_quotas(Random(0).sample(found, len(found)), quotas, lambda one: one.label)
    return load_rows(session, dataset_id, StoredExample.row == func.any([one.row for one in chosen]))


def load_texts(session: Session, dataset_id: str, rows: Collection[int]) -> dict[int, str]:
    """Read the texts of these rows of a dataset."""
    columns = select(StoredExample.row, StoredExample.text)
    found = session.execute(columns.where(StoredExample.dataset_id == dataset_id, StoredExample.row.in_(rows)))
    return {row: content for row, content in found.all()}  # noqa: C416 - rows are no pairs for mypy


def load_warnings(session: Session, dataset_id: str) -> list[str]:
    """Warnings about accepted but unusual content, found at upload."""
    warnings: list[str] = session.execute(select(Dataset.warnings).where(Dataset.id == dataset_id)).scalar_one()
    return warnings


def owns_dataset(session: Session, owner_id: str, dataset_id: str) -> bool:
    """Whether the owner has this dataset. The dataset is locked against deletion until the transaction ends."""
    query = select(Dataset.id).where(Dataset.id == dataset_id, Dataset.owner_id == owner_id)
    return session.scalar(query.with_for_update(read=True, key_share=True)) is not None


def delete_unused_datasets(session: Session, owner_id: str, dataset_ids: list[str]) -> None:
    """Delete those of the datasets that no job uses, and that the owner did not store by itself."""
    named = (Dataset.id.in_(dataset_ids), Dataset.owner_id == owner_id)
    # Lock the datasets first, so that the delete sees a concurrent submission that uses one of them.
    session.execute(select(Dataset.id).where(*named).order_by(Dataset.id).with_for_update())
    session.execute(delete(Dataset).where(*named, ~IS_USED, ~Dataset.is_kept))


def find_dataset(session: Session, owner_id: str, dataset_id: str) -> Dataset | None:
    return session.scalar(select(Dataset).where(Dataset.id == dataset_id, Dataset.owner_id == owner_id))


def list_datasets(session: Session, owner_id: str, before: str | None, limit: int) -> Sequence[Dataset]:
    """Return up to `limit` + 1 datasets, newest first. The extra one shows that there is a next page."""
    statement = select(Dataset).where(Dataset.owner_id == owner_id)
    if before is not None:
        statement = statement.where(Dataset.id < before)
    return session.scalars(statement.order_by(Dataset.id.desc()).limit(limit + 1)).all()


def keep_dataset(session: Session, dataset_id: str, name: str | None) -> Dataset:
    """Let a dataset stay when no job uses it. A name replaces an earlier one."""
    named = {} if name is None else {"name": name}
    changing = update(Dataset).where(Dataset.id == dataset_id).values(is_kept=True, **named)
    return session.execute(changing.returning(Dataset)).scalar_one()


def find_user(session: Session, dataset_id: str) -> Job | None:
    """A job that uses the dataset."""
    return session.scalar(
        select(Job).where(or_(Job.dataset_id == dataset_id, Job.test_dataset_id == dataset_id)).limit(1)
    )


def delete_dataset(session: Session, owner_id: str, dataset_id: str) -> bool:
    """Delete a dataset that no job uses. Returns False if one does."""
    named = (Dataset.id == dataset_id, Dataset.owner_id == owner_id)
    session.execute(select(Dataset.id).where(*named).with_for_update())
    return session.scalar(delete(Dataset).where(*named, ~IS_USED).returning(Dataset.id)) is not None

"""The rows of evaluations and predictions: how texts and answers are kept, and read again page by page."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.store.database import Database
from app.store.tables import Example as StoredRow
from app.store.tables import StoredPrediction
from lens_engine.evaluation.rows import Prediction, pack_probabilities, unpack_probabilities
from lens_engine.reading import TextRow

ROW_BYTES, ANSWER_BYTES = 150, 200
"""What Postgres takes for a row of a dataset, and for an answer, besides what is in it: keys, index, header (bytes)."""

_ROWS_A_PAGE = 2000
_PAGE_BYTES = 4 * 2**20
"""Size from which a page has no further row, and a statement inserts none (bytes)."""

_SEPARATOR = "\x1e"
"""No JSON has it as it is. psycopg takes a second to write the quotes of a page of cells as an array."""

_INSERT_TEXTS = text(
    "INSERT INTO examples (dataset_id, row, text, cells, fault) SELECT :dataset_id, * FROM unnest("
    "CAST(:rows AS int[]), CAST(:texts AS text[]), string_to_array(CAST(:cells AS text), chr(30), ''), "
    "CAST(:faults AS text[]))"
)

T = TypeVar("T")


def weigh_answers(num_rows: int, labels: Sequence[str]) -> int:
    """What the answers for rows will take at most (bytes), so that it is known before there is any."""
    longest = max((len(label.encode()) for label in labels), default=0)
    return num_rows * (ANSWER_BYTES + longest + len(pack_probabilities([0.0] * len(labels))))


def read_predictions(session: Session, job_id: str, first: int, limit: int) -> list[Prediction]:
    """The answers that are kept of up to `limit` rows from the place `first` on, in order."""
    own = select(StoredPrediction).where(StoredPrediction.job_id == job_id, StoredPrediction.place >= first)
    found = session.scalars(own.order_by(StoredPrediction.place).limit(limit))
    return [_to_prediction(row.label, row.probabilities, row.error, row.is_cut) for row in found]


def insert_texts(session: Session, dataset_id: str, rows: Sequence[TextRow]) -> None:
    """Store the rows of a file of texts."""
    start = 0
    for some in cut_rows(rows, lambda row: len(row.text) + len(row.cells)):
        columns = {
            "rows": list(range(start, start + len(some))),
            "texts": [one.text for one in some],
            "cells": _SEPARATOR.join(one.cells.decode() for one in some),
            "faults": [one.fault for one in some],
        }
        session.execute(_INSERT_TEXTS, {"dataset_id": dataset_id, **columns})
        start += len(some)


def cut_rows(rows: Sequence[T], weigh: Callable[[T], int]) -> Iterator[list[T]]:
    """The rows in pieces that one statement inserts far within its time limit."""
    piece, size = list[T](), 0
    for row in rows:
        piece.append(row)
        size += weigh(row) + ROW_BYTES
        if size >= _PAGE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def read_texts(session: Session, dataset_id: str, first: int, limit: int) -> list[TextRow]:
    """Up to `limit` rows of a dataset from the row `first` on, as texts to classify, without their cells."""
    query = select(StoredRow.text, StoredRow.fault)
    own = query.where(StoredRow.dataset_id == dataset_id, StoredRow.row >= first)
    return [TextRow(content, fault) for content, fault in session.execute(own.order_by(StoredRow.row).limit(limit))]


def read_answered(database: Database, dataset_id: str, job_id: str) -> Iterator[tuple[TextRow, Prediction]]:
    """The rows of an ended prediction with their answers, in order.

    Each page of some megabytes is read in a transaction of its own, because a client may take long between two.

    Raises:
        LookupError: the prediction was deleted meanwhile.
    """
    last_place = select(func.max(StoredPrediction.place)).where(StoredPrediction.job_id == job_id)
    first, last = 0, None
    while True:
        with database.session_scope() as session:
            last = session.scalar(last_place) if last is None else last
            page = _read_page(session, dataset_id, job_id, first)
        for content, fault, cells, *answer in page:
            yield TextRow(content, fault, (cells or "").encode()), _to_prediction(*answer)
        first += len(page)
        if last is None or first > last:
            return
        if not page:
            raise LookupError(f"{job_id} was deleted while its output was read")


def _read_page(session: Session, dataset_id: str, job_id: str, first: int) -> Sequence[Sequence[Any]]:
    """Rows with their answers from the row `first` on, until they have the size of a page. Sizes are read without the
    texts."""
    few = StoredRow.row.between(first, first + _ROWS_A_PAGE - 1)
    own = (StoredRow.dataset_id == dataset_id, StoredPrediction.job_id == job_id)
    parts = (StoredRow.text, StoredRow.cells, StoredPrediction.probabilities)
    size = sum((func.coalesce(func.octet_length(one), 0) for one in parts), start=0)
    before = func.sum(size).over(order_by=StoredRow.row) - size
    rows = select(
        StoredRow.row,
        StoredRow.text,
        StoredRow.fault,
        StoredRow.cells,
        StoredPrediction.label,
        StoredPrediction.probabilities,
        StoredPrediction.error,
        StoredPrediction.is_cut,
        before.label("before"),
    ).join(StoredPrediction, StoredPrediction.place == StoredRow.row)
    found = rows.where(*own, few, StoredPrediction.place.between(first, first + _ROWS_A_PAGE - 1)).subquery()
    row, *values, sized = found.c
    return session.execute(select(*values).where(sized < _PAGE_BYTES).order_by(row)).all()


def _to_prediction(label: str | None, probabilities: bytes, error: str | None, is_cut: bool) -> Prediction:
    return Prediction(label=label, probabilities=unpack_probabilities(probabilities), error=error, is_cut=is_cut)

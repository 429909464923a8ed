"""SQL of selections that is not the worker's claim: what the API and both sides read."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import Dataset, Selection
from app.models import Example as StoredExample
from app.selections.spec import StoredSpec
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Submission:
    """What a worker needs to run a selection."""

    spec: StoredSpec
    examples: tuple[Example, ...]
    test: tuple[Example, ...] | None
    dataset_sha256: str
    test_sha256: str | None


def load_submission(session: Session, selection_id: str) -> Submission:
    """Everything a run starts from. Raises NoResultFound when the selection is gone."""
    selection = session.execute(select(Selection).where(Selection.id == selection_id)).scalar_one()
    test_id = selection.test_dataset_id
    return Submission(
        spec=StoredSpec.model_validate(selection.spec),
        examples=load_examples(session, selection.dataset_id),
        test=None if test_id is None else load_examples(session, test_id),
        dataset_sha256=_sha256(session, selection.dataset_id),
        test_sha256=None if test_id is None else _sha256(session, test_id),
    )


def load_examples(session: Session, dataset_id: str) -> tuple[Example, ...]:
    """The rows of a dataset in the order of the upload."""
    columns = select(StoredExample.row, StoredExample.text, StoredExample.label)
    rows = session.execute(columns.where(StoredExample.dataset_id == dataset_id).order_by(StoredExample.row))
    return tuple(Example(row, text, label) for row, text, label in rows)


def _sha256(session: Session, dataset_id: str) -> str:
    return session.execute(select(Dataset.sha256).where(Dataset.id == dataset_id)).scalar_one()

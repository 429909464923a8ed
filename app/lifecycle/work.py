"""What a worker reads of a selection before it runs it."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.lifecycle.spec import StoredSpec
from app.store.datasets import load_rows
from app.store.tables import Dataset, Job
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Submission:
    """Everything that a worker needs to run a selection."""

    spec: StoredSpec
    examples: tuple[Example, ...]
    test: tuple[Example, ...] | None


def load_submission(session: Session, selection_id: str) -> Submission:
    """Read everything that a worker needs.

    Raises:
        NoResultFound: the selection was deleted.
        SpecUnreadable: see `StoredSpec.read`.
    """
    selection = session.execute(select(Job).where(Job.id == selection_id)).scalar_one()
    test_id = selection.test_dataset_id
    return Submission(
        spec=StoredSpec.read(selection.spec),
        examples=load_rows(session, selection.dataset_id),
        test=None if test_id is None else load_rows(session, test_id),
    )


def list_inline_parts(session: Session, job_id: str) -> list[str]:
    """Those of `dataset` and `test` that came in the JSON body of a job. None of a job that was deleted."""
    parts = {"dataset": Job.dataset_id, "test": Job.test_dataset_id}
    owned = select(Dataset.id).join(Job, Job.id == job_id).where(Dataset.format == "inline", ~Dataset.is_kept)
    return [part for part, dataset_id in parts.items() if session.scalar(owned.where(Dataset.id == dataset_id))]

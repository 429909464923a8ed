"""SQL that stores a new selection."""

from dataclasses import dataclass

from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.ids import new_id
from app.lifecycle.spec import SPEC_VERSION, StoredSpec
from app.models import Selection


@dataclass(frozen=True, slots=True)
class NewSelection:
    """A selection to store. Its datasets are already stored."""

    owner_id: str
    name: str | None
    spec: StoredSpec
    dataset_id: str
    test_dataset_id: str | None
    warnings: tuple[str, ...] = ()


def insert_selection(session: Session, new: NewSelection) -> Selection:
    """Store a queued selection. Workers run it once the transaction has committed."""
    statement = insert(Selection).values(
        id=new_id("sel"),
        owner_id=new.owner_id,
        name=new.name,
        dataset_id=new.dataset_id,
        test_dataset_id=new.test_dataset_id,
        spec=new.spec.model_dump(mode="json"),
        spec_version=SPEC_VERSION,
        warnings=list(new.warnings),
    )
    return session.execute(statement.returning(Selection)).scalar_one()

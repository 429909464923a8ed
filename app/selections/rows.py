"""The rows that a submission names or brings."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.errors import UnknownDataset
from app.services import Services
from app.store.datasets import find_label_column, load_rows, owns_dataset
from lens_engine.reading import ParsedDataset
from lens_engine.reading.table import ColumnNames
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that is already stored."""

    id: str
    examples: tuple[Example, ...] = ()  #: none if they are not needed
    label_column: ColumnNames | None = None  #: None if it is not known


Labelled = ParsedDataset | KnownDataset


def find_dataset(services: Services, owner_id: str, dataset_id: str, field: str) -> KnownDataset:
    """A dataset of labelled texts that the field of a body names.

    Raises:
        UnknownDataset: the owner has no such dataset.
    """
    with services.database.session_scope() as session:
        check_dataset(session, owner_id, dataset_id, field)
        return KnownDataset(dataset_id, load_rows(session, dataset_id), find_label_column(session, dataset_id))


def check_dataset(session: Session, owner_id: str, dataset_id: str, field: str) -> None:
    """Lock a dataset that the field of a body names against deletion.

    Raises:
        UnknownDataset: the owner has no such dataset.
    """
    if not owns_dataset(session, owner_id, dataset_id):
        raise UnknownDataset.at(f"/{field}", "there is no dataset of labelled texts with this id")

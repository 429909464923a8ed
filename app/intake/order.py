"""What a submission asks for: the contract between the routes that take submissions and the code that stores them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.intake.submissions import RawSubmission
from app.services import Services
from app.settings import Settings
from app.store.pools import PackedPool
from app.store.tables import Job
from lens_engine.reading import ParsedDataset, ReadTexts
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that is already stored."""

    id: str
    examples: tuple[Example, ...] = ()  #: none if nobody asked for them


Labelled = ParsedDataset | KnownDataset
Source = Labelled | ReadTexts
FindDataset = Callable[[str, str], KnownDataset]
"""(dataset id, field) -> dataset of the owner. Raises UnknownDataset."""


@dataclass(frozen=True, slots=True)
class ValidJob:
    """A validated submission, ready to store."""

    spec: dict[str, Any]
    dataset: Source
    test: Source | None = None
    name: str | None = None
    source: dict[str, Any] | None = None  #: what is judged or asked
    warnings: tuple[str, ...] = ()  #: about the rows and their use, and what was taken by default
    answer_bytes: int = 0  #: size of what the job will write for its rows
    pool: PackedPool | None = None  #: of the prompt that is asked; None if it finds no demonstrations


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a submission is checked: whose it is, and what the owner has stored."""

    services: Services
    owner_id: str
    find_dataset: FindDataset

    @property
    def settings(self) -> Settings:
        return self.services.settings

    def session(self) -> AbstractContextManager[Session]:
        return self.services.database.session_scope()


class Work(Protocol):
    """What is done with a submission, in this process or in the reader. It can be pickled."""

    def __call__(self, services: Services, owner_id: str, submission: Any, key: str | None) -> Any:
        """`submission`: a `RawSubmission`, or `NoSubmission` for work that has none."""
        ...


class Order(Protocol):
    """What a submission asks for. It may travel to the reader, so it can be pickled."""

    @property
    def kind(self) -> str:
        """Kind of the job: "selection"."""
        ...

    @property
    def prefix(self) -> str:
        """Prefix of the job's id."""
        ...

    @property
    def about(self) -> str:
        """What of the request is not in its body, for `Idempotency-Key`; "" for nothing."""
        ...

    def validate(self, body: RawSubmission, desk: Desk) -> ValidJob:
        """Check the submission.

        Raises:
            AppError: it is refused; all faults are named.
        """
        ...

    def present(self, session: Session, job: Job) -> dict[str, Any]:
        """The answer to the submission, as JSON."""
        ...

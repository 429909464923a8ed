"""Dependencies of routes: services, session, owner, selection id, page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Query, Request
from sqlalchemy.orm import Session

from app.errors import BadRequest, NotFound
from app.ids import SELECTION, decode_cursor, encode_cursor, is_id
from app.store.services import Services
from app.web.authentication import API_KEY
from app.web.parameters import KNOWN_PARAMETERS

T = TypeVar("T")

OWNER_ROUTE = [API_KEY, KNOWN_PARAMETERS]
"""What every route of an owner has."""


def read_state(name: str, *, of_app: bool = False) -> Any:
    """Make the dependency that reads what the state of the request, or of the application, has under this name."""

    async def read(request: Request) -> Any:
        return getattr(request.app.state if of_app else request.state, name)

    return Depends(read)


ServicesDep = Annotated[Services, read_state("services", of_app=True)]
OwnerDep = Annotated[str, read_state("owner_id")]


def get_session(services: ServicesDep) -> Iterator[Session]:
    """Open one transaction, which commits before the response is sent."""
    with services.database.session_scope() as session:
        yield session


SessionDep = Annotated[Session, Depends(get_session, scope="function")]


def make_id_reader(kind: str, prefix: str) -> Any:
    """Make the dependency that reads an id from the path. Raises NotFound if the id does not have the form of an id."""
    described = Path(
        alias=f"{kind}_id", description=f"Id of the {kind}.", examples=[f"{prefix}_01jd5g9k2m7x8y4z0q3r6t1v5w"]
    )

    async def read(job_id: Annotated[str, described]) -> str:
        if not is_id(job_id):
            raise NotFound(f"there is no {kind} with this id")
        return job_id

    return Depends(read)


SelectionIdDep = Annotated[str, make_id_reader("selection", SELECTION)]


@dataclass(frozen=True, slots=True)
class Page:
    """Page size, and the id after which the page starts."""

    limit: int
    last_id: str | None

    def cut(self, found: Sequence[T], id_of: Callable[[T], object]) -> tuple[Sequence[T], str | None]:
        """The items of the page and the cursor of the next, if one item more than its size was found."""
        items = found[: self.limit]
        return items, encode_cursor(str(id_of(items[-1]))) if len(found) > self.limit else None


async def get_page(
    limit: Annotated[int, Query(ge=1, le=200, description="Page size.")] = 50,
    cursor: Annotated[str | None, Query(max_length=100, description="Value of `next` in the previous page.")] = None,
) -> Page:
    """Read the page parameters. Raises BadRequest if the cursor is invalid."""
    try:
        return Page(limit, None if cursor is None else decode_cursor(cursor))
    except ValueError as error:
        raise BadRequest("the cursor is invalid; omit it to start at the first page", code="invalid-cursor") from error


PageDep = Annotated[Page, Depends(get_page)]

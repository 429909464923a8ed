"""What the routes of a prompt read of a request: its name, and under which condition it is changed."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request

from app.errors import BadRequest
from app.ids import NAME
from app.prompts.finding import PromptFinder
from app.prompts.service import Change, Condition
from app.web.dependencies import OwnerDep, ServicesDep
from app.web.openapi import not_modified, refusals, sends

READ: dict[int | str, dict[str, Any]] = {200: sends("ETag"), **not_modified(), **refusals(400, 401, 404, 503)}
"""OpenAPI entries of a route that reads a prompt."""

MOST_POOLS = 4
"""Requests of different owners that read all rows of a pool at the same time."""


async def get_name(
    name: Annotated[str, Path(description="Name of a prompt.", examples=["support-triage"])],
) -> str:
    """Return the name in the path."""
    if not NAME.fullmatch(name):
        raise BadRequest(
            "a name has 1 to 100 lower-case letters, digits, dots, dashes and underscores, and begins with a letter or "
            "digit"
        )
    return name


NameDep = Annotated[str, Depends(get_name)]
RowDep = Annotated[int, Path(ge=0, le=2**31 - 1, description="Number of a row of the pool.")]


async def find_prompt(request: Request, name: NameDep) -> None:
    """Let routes that selections have too find what the name in the path says."""
    request.state.make_finder = partial(PromptFinder, name=name)


async def get_change(
    request: Request,
    name: NameDep,
    owner: OwnerDep,
    services: ServicesDep,
    if_match: Annotated[str | None, Header(description="`ETag` of the version that is changed.")] = None,
    if_none_match: Annotated[str | None, Header(description="`*` for a name that must be new.")] = None,
) -> Change:
    return Change(services, owner, name, Condition(if_match, if_none_match), request.state.key_name)


ChangeDep = Annotated[Change, Depends(get_change)]


async def take_turn(request: Request, owner: OwnerDep) -> AsyncIterator[None]:
    """Wait without a thread until no other request of the owner reads all rows of a pool, and few of all owners do.

    A large pool takes a second, in which Python answers other requests more slowly, and 60 MB.
    """
    async with request.app.state.pool_turns[owner], request.app.state.pool_places:
        yield


TurnDep = Annotated[None, Depends(take_turn, scope="function")]
"""Stands behind what reads the body: a slow client holds no turn."""

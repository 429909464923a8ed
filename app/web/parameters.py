"""What a request says beside its body: parameters, and ETags, by which a client gets 304 for the answer that it has.

An ETag is made from what decides about the response, and not from the response, which is then not made for a 304.
"""

import hashlib
import re
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from app.errors import BadRequest
from lens_engine import __version__
from lens_engine.prompt.text_checks import UNSTORABLE

BY_HTMX = "HX-Request"
"""Header of the requests of a page. A browser that opens a page sends none."""

PAGE_ASSETS = "/pages/assets/"
"""Where the scripts and styles of the pages are. They need no key."""


def root_of(scope: Scope) -> str:
    """The path under which a proxy serves the application (`root_path` of ASGI), without a slash at its end."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def served_path(scope: Scope) -> str:
    """The path below `root_of`."""
    path: str = scope["path"]
    root = root_of(scope)
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def read_number(written: str, most_digits: int) -> int | None:
    """A whole number as headers, cursors and forms write it; None for anything else.

    `str.isdigit` is true for "²", which `int` refuses; `int` takes digits of every script, and refuses 5,000 of them.
    """
    return int(written) if re.fullmatch(f"[0-9]{{1,{most_digits}}}", written) else None


def read_last_number(written: str | None, most_digits: int, name: str, what: str) -> int | None:
    """The number in a parameter or header (`name`) after which a list of `what` goes on; None to begin."""
    number = None if written is None else read_number(written, most_digits)
    if written is not None and number is None:
        raise BadRequest(
            f"`{name}` does not belong to a list of {what}; leave it out to begin with the first", code="invalid-cursor"
        )
    return number


async def refuse_bad_parameters(request: Request) -> None:
    for place, parameters in (("path", request.path_params.items()), ("query", request.query_params.multi_items())):
        for name, value in parameters:
            if UNSTORABLE.search(str(value)):
                raise BadRequest.at(f"/{place}/{name}", f"`{name}` holds NUL or half a surrogate pair; take it out")
    route = request.scope["route"]
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = _names(route.dependant)
    if set(request.query_params) <= known:
        return
    advice = f"the parameters are {', '.join(sorted(known))}" if known else "this address takes none"
    detail = f"the query has an unknown parameter; {advice}"
    raise BadRequest.at("/query", detail)


def _names(dependant: Dependant) -> set[str]:
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*(_names(other) for other in dependant.dependencies))


KNOWN_PARAMETERS = Depends(refuse_bad_parameters)


KnownEtag = Annotated[
    str | None,
    Header(alias="If-None-Match", description="`ETag` of an earlier answer; an unchanged answer is then 304."),
]
REVALIDATED = {"Cache-Control": "private, no-cache"}
"""A browser may keep the answer, and asks each time whether it still holds: a selection may be deleted or resumed."""


def make_etag(*parts: str) -> str:
    """Make a strong ETag of everything that decides about the response, the version of Lens among it."""
    return f'"{hashlib.sha256(repr((__version__, *parts)).encode()).hexdigest()[:32]}"'


def matches(if_match: str, etag: str) -> bool:
    """Whether `If-Match` names this ETag, by strong comparison: a weak one matches nothing (RFC 9110, 13.1.1)."""
    return not {etag, "*"}.isdisjoint(candidate.strip() for candidate in if_match.split(","))


def is_known(if_none_match: str | None, etag: str) -> bool:
    """Whether the client has the response with this ETag, by weak comparison."""
    known = {candidate.strip().removeprefix("W/") for candidate in (if_none_match or "").split(",")}
    return etag in known or "*" in known


def version_etag(version: int) -> str:
    """The ETag of everything that a version of a name says. A client sends it as `If-Match` to change the name."""
    return f'"{version}"'


def answer_unchanged(etag: str, headers: dict[str, str]) -> Response:
    """Build the answer to a client that has the current response."""
    return Response(status_code=304, headers={"ETag": etag, **headers})


class Unchanged(Exception):
    """Ends a request whose client has the response with the ETag that this names."""


def answer_with_etag(etag: str, body: BaseModel | dict[str, Any] | Response, headers: dict[str, str]) -> Response:
    """Build the response of this body, or give a response its ETag."""
    if isinstance(body, Response):
        body.headers.update({"ETag": etag, **headers})
        return body
    content = body.model_dump_json().encode() if isinstance(body, BaseModel) else JSONResponse(body).body
    return Response(content, media_type="application/json", headers={"ETag": etag, **headers})

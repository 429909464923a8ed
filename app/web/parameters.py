"""The path and the parameters of a request.

Unknown parameters are refused, because a filter with a typing error would otherwise filter nothing, and so is text that
no store keeps. Numbers are ASCII digits.
"""

import re

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.types import Scope

from app.errors import BadRequest, InvalidCursor
from lens_engine.task.text_checks import UNSTORABLE

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
    """The number after which a list goes on; None to begin.

    Args:
        name: of the parameter or header.
        what: the things in the list.
    """
    number = None if written is None else read_number(written, most_digits)
    if written is not None and number is None:
        raise InvalidCursor(f"`{name}` does not belong to a list of {what}; leave it out to begin with the first")
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

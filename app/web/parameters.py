"""Parameters of a request: unknown ones are refused, and so is text that no store keeps; numbers are ASCII digits.

A filter with a typing error would otherwise filter nothing.
"""

import re

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app.errors import BadRequest, InvalidCursor
from app.problems import ErrorItem
from lens_engine.task.text_checks import UNSTORABLE


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

    Raises:
        InvalidCursor: it is no such number.
    """
    number = None if written is None else read_number(written, most_digits)
    if written is not None and number is None:
        raise InvalidCursor(f"`{name}` does not belong to a list of {what}; leave it out to begin with the first")
    return number


async def refuse_bad_parameters(request: Request) -> None:
    """
    Raises:
        BadRequest: the query has a parameter that the route does not take, or a parameter holds what no store keeps.
    """
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
    errors: list[ErrorItem] = [{"detail": detail, "pointer": "/query"}]
    raise BadRequest(detail, errors=errors)


def _names(dependant: Dependant) -> set[str]:
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*(_names(other) for other in dependant.dependencies))


KNOWN_PARAMETERS = Depends(refuse_bad_parameters)

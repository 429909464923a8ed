"""Refuses unknown query parameters: a filter with a typing error would otherwise filter nothing."""

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app.errors import BadRequest
from app.problems import ErrorItem


async def refuse_unknown_parameters(request: Request) -> None:
    """
    Raises:
        BadRequest: the query has a parameter that the route does not take.
    """
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


KNOWN_PARAMETERS = Depends(refuse_unknown_parameters)

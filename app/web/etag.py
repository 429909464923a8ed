"""ETag and If-None-Match: a client that has the current response gets 304 without a body.

An ETag is made from what decides about the response, and not from the response, which is then not made for a 304.
"""

import hashlib
from typing import Annotated, Any

from fastapi import Header
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from lens_engine import __version__

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


def answer_with_etag(etag: str, body: BaseModel | dict[str, Any] | Response, headers: dict[str, str]) -> Response:
    """Build the response of this body, or give a response its ETag."""
    if isinstance(body, Response):
        body.headers.update({"ETag": etag, **headers})
        return body
    content = body.model_dump_json().encode() if isinstance(body, BaseModel) else JSONResponse(body).body
    return Response(content, media_type="application/json", headers={"ETag": etag, **headers})

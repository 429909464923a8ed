"""ETag and If-None-Match: a client that has the current response gets 304 without a body."""

import hashlib
from typing import Annotated, Any

from fastapi import Header
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

KnownEtag = Annotated[
    str | None,
    Header(alias="If-None-Match", description="`ETag` of an earlier answer; an unchanged answer is then 304."),
]


def answer_with_etag(if_none_match: str | None, body: BaseModel | dict[str, Any], headers: dict[str, str]) -> Response:
    """Return the body as JSON with a strong ETag, or 304 if the client has this body."""
    content = body.model_dump_json().encode() if isinstance(body, BaseModel) else JSONResponse(body).body
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, **headers}
    if _matches(if_none_match or "", etag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)


def _matches(if_none_match: str, etag: str) -> bool:
    known = {candidate.strip().removeprefix("W/") for candidate in if_none_match.split(",")}
    return etag in known or "*" in known

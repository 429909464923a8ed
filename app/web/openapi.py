"""Parts of the OpenAPI document that types cannot express: headers, refusals, and schemas that no route declares."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from app.problems import TITLES

_HEADERS: dict[str, dict[str, Any]] = {
    "Content-Disposition": {"description": "Name for the file.", "schema": {"type": "string"}},
    "ETag": {"description": "Version of the answer, for `If-None-Match`.", "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "Present if an earlier request with this Idempotency-Key got the same answer.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Location": {"description": "Path of what was made.", "schema": {"type": "string", "format": "uri-reference"}},
    "Retry-After": {
        "description": "Time after which to send the next request (seconds).",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "Always `Bearer`.", "schema": {"type": "string"}},
}
_CODES = [f"- `{code}`: {title}" for code, title in TITLES.items()]
REFERENCE = "#/components/schemas/{model}"
_HEADERS_OF_REFUSALS = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}


def sends(*names: str) -> dict[str, Any]:
    """The part of an OpenAPI response that names its headers."""
    return {"headers": {name: _HEADERS[name] for name in names}} if names else {}


def not_modified(*headers: str) -> dict[int | str, dict[str, Any]]:
    """Build the OpenAPI entry of a route that answers with an ETag. `headers` are others that the answer 304 has."""
    return {304: {"description": "The answer with this `ETag` is still current.", **sends("ETag", *headers)}}


class ErrorItemOut(BaseModel):
    """One error and its place in the request."""

    detail: str = Field(description="What is wrong, and how to mend it.")
    pointer: str = Field(description="JSON pointer into the body, or `/dataset/rows/7/label` in a file.")
    row: int | None = Field(None, description="Row of the pool that contradicts an example; else absent.")


class Problem(BaseModel):
    """An error response (RFC 9457)."""

    type: str = Field(description="Address of this documentation, with the code.")
    code: str = Field(description="\n".join(["Stable code of the error:", "", *_CODES]))
    title: str = Field(description="What the code means.")
    status: int = Field(description="HTTP status.")
    detail: str = Field(description="What is wrong with this request.")
    instance: str = Field(description="Path of the request.")
    request_id: str = Field(description="Value of `X-Request-ID`; quote it when you report an error.")
    errors: list[ErrorItemOut] = Field(description="Every error found, each with its place; may be empty.")


def refusals(
    *statuses: int, conflict: str | None = None, is_conflict_brief: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Build the OpenAPI entries for the error responses of a route. `conflict` says what 409 means there.

    A brief conflict ends by itself, and `Retry-After` says when to send the request again.

    The entry `default` also keeps FastAPI from declaring its own 422, which the error handlers replace.
    """
    content = {"application/problem+json": {"schema": named(Problem)}}
    # The proxy of the Compose file may refuse any of them.
    expected = {*statuses, 429} if 401 in statuses else statuses
    descriptions = {status: _DESCRIPTIONS[status] for status in expected}
    if conflict is not None:
        descriptions[409] = conflict
    entries: dict[int | str, str] = {**dict(sorted(descriptions.items())), "default": "Any other error."}
    with_headers = {**_HEADERS_OF_REFUSALS, **({409: ("Retry-After",)} if is_conflict_brief else {})}
    return {
        status: {
            "description": text,
            "content": content,
            **(sends(*with_headers[status]) if status in with_headers else {}),
        }
        for status, text in entries.items()
    }


def named(model: type[BaseModel]) -> dict[str, str]:
    """Refer to a schema of `add_schemas`."""
    return {"$ref": REFERENCE.format(model=model.__name__)}


def takes_json(model: type[BaseModel]) -> dict[str, Any]:
    """The part of an OpenAPI operation that says that its body is JSON of this model."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": named(model)}}}}


def add_schemas(document: dict[str, Any], models: Sequence[type[BaseModel]], others: Mapping[str, Any]) -> None:
    """Add the schemas that FastAPI cannot see, because no route declares their types.

    Each has one name, so a generated client has one class for it.
    """
    declared: list[type[BaseModel]] = [Problem, *models]
    _, made = models_json_schema([(model, "validation") for model in declared], ref_template=REFERENCE)
    document["components"]["schemas"] |= {**made["$defs"], **others}


_DESCRIPTIONS = {
    400: "The request is malformed.",
    401: "The API key is missing or unknown.",
    404: "You have no selection with this id, or no prompt with this name.",
    412: "The version is another than `If-Match` names, or the name exists already; read the current version first.",
    413: "The request body is too large.",
    415: "The media type of the request body is not supported.",
    422: "The request is well-formed but invalid; `errors` names each place.",
    428: "The request has neither `If-Match` nor `If-None-Match: *`.",
    429: "You send too many requests, or have too many jobs queued or running; repeat the request after `Retry-After`.",
    503: "The service is temporarily unavailable; repeat the request after `Retry-After`.",
}

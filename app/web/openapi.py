"""The OpenAPI document: what types cannot express; and the routes that describe the service."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import HTMLResponse, JSONResponse, Response

from app.errors import TITLES
from app.web.parameters import answer_unchanged, is_known, make_etag, root_of

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
    """Refer to a schema of `install_documentation`."""
    return {"$ref": REFERENCE.format(model=model.__name__)}


def takes_json(model: type[BaseModel]) -> dict[str, Any]:
    """The part of an OpenAPI operation that says that its body is JSON of this model."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": named(model)}}}}


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


PUBLIC_PATHS = frozenset({"/", "/docs", "/openapi.json"})
router = APIRouter(include_in_schema=False)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
_STYLE = (
    "body { margin: 2em; font-family: sans-serif } td { padding: .2em 1em .2em 0; vertical-align: top } "
    ".problems > :not(:target) { display: none }"
)
_PROBLEMS = "".join(f'<p id="{code}"><code>{code}</code>: {escape(title)}</p>' for code, title in TITLES.items())
"""What the `type` of a problem leads to: the title of one code, above the rest of the page."""


def install_documentation(app: FastAPI, models: Sequence[type[BaseModel]], others: Mapping[str, Any]) -> None:
    """Add `/`, `/docs` and `/openapi.json`, which need no API key.

    A GPU machine often has no way to the internet, so the page has no script and refers to no other host.

    Args:
        models, others: schemas that FastAPI cannot see, because no route declares their types. Each has one name, so a
            generated client has one class for it.
    """
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            declared: list[type[BaseModel]] = [Problem, *models]
            _, made = models_json_schema([(model, "validation") for model in declared], ref_template=REFERENCE)
            generate()["components"]["schemas"] |= {**made["$defs"], **others}
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]

    @cache
    def document(root: str) -> tuple[bytes, str]:
        """The OpenAPI document as bytes, and its ETag: made once, because it takes milliseconds of the event loop."""
        servers = {"servers": [{"url": root}]} if root else {}
        content = json.dumps({**app.openapi(), **servers}).encode()
        return content, make_etag(hashlib.sha256(content).hexdigest())

    app.state.openapi_document = document
    app.include_router(router)


@router.get("/openapi.json")
async def show_openapi(request: Request) -> Response:
    content, etag = request.app.state.openapi_document(root_of(request.scope))
    if is_known(request.headers.get("If-None-Match"), etag):
        return answer_unchanged(etag, {})
    return Response(content, media_type="application/json", headers={"ETag": etag})


@router.get("/")
async def describe_service(request: Request) -> Response:
    root = root_of(request.scope)
    links = {
        "pages": f"{root}/pages/selections",
        "documentation": f"{root}/docs",
        "openapi": f"{root}/openapi.json",
        "selections": f"{root}/selections",
    }
    return JSONResponse(
        {"name": request.app.title, "version": request.app.version, **links}, headers={"Vary": "Accept"}
    )


@router.get("/docs")
async def show_documentation(request: Request) -> HTMLResponse:
    app, root = request.app, escape(root_of(request.scope))
    rows = (
        f"<tr><td>{method.upper()}<td><code>{escape(path)}</code><td>{escape(operation.get('summary', ''))}"
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
    )
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta name="color-scheme" content="light dark"><style>{_STYLE}</style>'
        f"<title>{app.title} API</title>"
        f'<main><div class="problems">{_PROBLEMS}</div><h1>{app.title} API</h1>'
        f'<p>The <a href="{root}/openapi.json">OpenAPI document</a> describes each operation whole, for programs that '
        f"show it or make a client of it.</p><table>{''.join(rows)}</table></main></html>",
        headers={"Content-Security-Policy": _POLICY, "Referrer-Policy": "same-origin"},
    )

"""Routes that describe the service: `/`, `/openapi.json`, and `/docs`, a page of its operations and problems.

A GPU machine often has no way to the internet, so the page has no script and refers to no other host.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from app.problems import TITLES
from app.web.etag import answer_unchanged, is_known, make_etag

PUBLIC_PATHS = frozenset({"/", "/docs", "/openapi.json"})
router = APIRouter(include_in_schema=False)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
_STYLE = (
    "body { margin: 2em; font-family: sans-serif } td { padding: .2em 1em .2em 0; vertical-align: top } "
    ".problems > :not(:target) { display: none }"
)
_PROBLEMS = "".join(f'<p id="{code}"><code>{code}</code>: {escape(title)}</p>' for code, title in TITLES.items())
"""What the `type` of a problem leads to: the title of one code, above the rest of the page."""


def install_documentation(app: FastAPI, complete: Callable[[dict[str, Any]], None]) -> None:
    """Add `/`, `/docs` and `/openapi.json`. They need no API key.

    `complete` adds to the OpenAPI document what FastAPI does not know.
    """
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            complete(generate())
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
    content, etag = request.app.state.openapi_document(_root(request))
    if is_known(request.headers.get("If-None-Match"), etag):
        return answer_unchanged(etag, {})
    return Response(content, media_type="application/json", headers={"ETag": etag})


@router.get("/")
async def describe_service(request: Request) -> Response:
    root = _root(request)
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
    app, root = request.app, escape(_root(request))
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
        headers={
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
        },
    )


def _root(request: Request) -> str:
    """The path under which a proxy serves the application."""
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")

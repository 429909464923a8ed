"""Routes that describe the service: `/`, and `/docs` with a Swagger UI that this host serves itself.

A GPU machine often has no way to the internet, so no page refers to another host.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.staticfiles import StaticFiles
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from app.problems import TITLES
from app.web.etag import answer_unchanged, is_known, make_etag

PUBLIC_PATHS = frozenset({"/", "/docs", "/openapi.json"})
ASSETS = "/docs/assets/"
router = APIRouter(include_in_schema=False)
_FOLDER = Path(fastapi_offline.__file__).parent / "static"
"""Swagger UI as the package `fastapi-offline` ships it. Nothing else of the package is used."""


_PROBLEMS = (
    "<style>.problems > :not(:target) { display: none } .problems { margin: 2em; font-family: sans-serif }</style>"
    '<div class="problems">'
    + "".join(f'<p id="{code}"><code>{code}</code>: {escape(title)}</p>' for code, title in TITLES.items())
    + "</div>"
)
"""What the `type` of a problem leads to: the title of one code, above the rest of the page."""


class _Assets(StaticFiles):
    """Files with `ETag`, which a browser may keep for a day."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response


def install_documentation(app: FastAPI, complete: Callable[[dict[str, Any]], None]) -> None:
    """Add `/`, `/docs` and the files of `/docs`. They need no API key.

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
    app.mount(ASSETS.rstrip("/"), _Assets(directory=_FOLDER))


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
    root = _root(request)
    page = get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title=f"{request.app.title} API",
        swagger_js_url=f"{root}{ASSETS}swagger-ui-bundle.js",
        swagger_css_url=f"{root}{ASSETS}swagger-ui.css",
        swagger_favicon_url=f"{root}{ASSETS}favicon.png",
        swagger_ui_parameters={"validatorUrl": None},  # Swagger UI would ask a validator on another host
    )
    content = bytes(page.body).decode().replace("<body>", f"<body>{_PROBLEMS}", 1)
    return HTMLResponse(content, headers=_secure(content))


def _secure(page: str) -> dict[str, str]:
    """Headers that let a page run its own inline scripts, named by their digests, and files of this host alone."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    # Swagger UI sets styles on its elements, and has pictures in its style sheet.
    policy = (
        f"default-src 'none'; script-src 'self' {allowed}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}


def _root(request: Request) -> str:
    """The path under which a proxy serves the application."""
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")

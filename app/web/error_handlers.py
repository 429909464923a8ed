"""Turns every exception, including the framework's, into a problem+json response (RFC 9457), or a part of a page.

Responses never echo what a client sent, but for thirty characters round a place where a file cannot be read.
"""

import json
import logging
import re
from html import escape
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from app.errors import NO_SPACE, TITLES, AppError, BadRequest, Conflict, Unavailable, make_internal_error, problem
from app.logs import find_sqlstate, summarize
from app.web.access_log import HEADER, note_problem
from app.web.parameters import BY_HTMX, REVALIDATED, Unchanged, answer_unchanged, root_of
from app.web.validation import error_items, join_details

_KEY_FORM = (
    '<form id="key-form"><label for="key">API key</label> '
    '<input id="key" type="password" autocomplete="off" required data-focus> '
    "<button>Use this key in this tab</button></form>"
)
_CODE = re.compile(r"`([^`]+)`")
TARGET = {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"}
"""Where a page shows every refusal."""

WHOLE_PAGE = "main#main"
"""What the header `HX-Source` says of the request for the content of a whole page."""

NO_SUCH_PAGE = "there is no such page"


def mark_code(text: str) -> str:
    """A sentence as HTML. What stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def write_problem(body: dict[str, Any], *, has_key: bool, is_page: bool = False, root: str = "") -> str:
    """What is wrong, and how to mend it; the form for a key if one is needed.

    Args:
        has_key: whether the request had a key.
        is_page: whether a whole page is refused. Then the problem has heading and title of a page, and leads on.
        root: the path under which a proxy serves the application.
    """
    if body["code"] == "unauthorized":
        what = "The service knows no such key." if has_key else "This service asks for an API key."
        heading = _write_heading("API key") if is_page else ""
        return f"{heading}<p>{what} The key stays in this tab, and is forgotten with it.</p>{_KEY_FORM}"
    heading = _write_heading(body["title"]) if is_page else f"<p><strong>{escape(body['title'])}</strong></p>"
    errors = [one["detail"] for one in body.get("errors", ())]
    listed = "".join(f"<li>{mark_code(one)}</li>" for one in errors if not body["detail"].endswith(one))
    faults = f"<ul>{listed}</ul>" if listed else ""
    report = f"<p>Request id: <code>{escape(body['request_id'])}</code></p>" if body["code"] == "internal-error" else ""
    on = _write_links(root) if is_page and body["code"] == "not-found" else ""
    return f"{heading}<p>{mark_code(body['detail'])}</p>{faults}{report}{on}"


def write_missing_page(root: str) -> str:
    """A document for a browser that was sent to an address where nothing is."""
    body = {"code": "not-found", "title": TITLES["not-found"], "detail": NO_SUCH_PAGE}
    content = write_problem(body, has_key=False, is_page=True, root=root)
    return f'<!doctype html><html lang="en"><meta name="color-scheme" content="light dark">{content}</html>'


def _write_heading(title: str) -> str:
    return f"<title>{escape(title)} · Lens</title><h1>{escape(title)}</h1>"


def _write_links(root: str) -> str:
    pages = {"selections": "Start", "new": "New", "prompts": "In production"}
    links = (f'<a href="{escape(root)}/pages/{path}">{name}</a>' for path, name in pages.items())
    return f"<p>{' · '.join(links)}</p>"


_DISK_FULL = "53100"
_DATABASE_AWAY = (
    "the database does not answer; the request may or may not have been carried out. Repeat the request, "
    "a submission with the same Idempotency-Key"
)
"""A connection cut during COMMIT leaves the outcome unknown."""
_RETRY = {"Retry-After": "5"}
_FRAMEWORK_CODES = {400: "bad-request", 404: "not-found", 405: "method-not-allowed", 413: "content-too-large"}
_log = logging.getLogger(__name__)


def problem_response(scope: Scope, error: AppError) -> Response:
    """Build the problem+json response of an error."""
    request_id = scope.get("state", {}).get("request_id", "")
    note_problem(scope, error.code)
    body = problem(error.code, error.detail, status=error.status, instance=scope["path"], errors=error.errors)
    body["request_id"] = request_id
    headers = {HEADER: request_id, **(_RETRY if isinstance(error, Unavailable) else {}), **error.headers}
    asked = Headers(scope=scope)
    if BY_HTMX in asked:
        content = write_problem(
            _encodable(body),
            has_key="Authorization" in asked,
            is_page=asked.get("HX-Source") == WHOLE_PAGE,
            root=root_of(scope),
        )
        return HTMLResponse(content, error.status, {**headers, **TARGET})
    return JSONResponse(_encodable(body), error.status, headers, media_type="application/problem+json")


def install_error_handlers(app: FastAPI) -> None:
    """Register handlers that answer every exception of a route with a problem."""

    def install(kind: type[Exception], describe: Any) -> None:
        async def handle(request: Request, error: Exception) -> Response:
            return problem_response(request.scope, describe(error))

        app.add_exception_handler(kind, handle)

    async def handle_framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        is_opened = BY_HTMX not in request.headers and "text/html" in request.headers.get("Accept", "")
        if error.status_code == HTTPStatus.NOT_FOUND and is_opened:
            note_problem(request.scope, "not-found")
            root = root_of(request.scope)
            return HTMLResponse(write_missing_page(root), HTTPStatus.NOT_FOUND, {"Vary": "Accept"})
        return problem_response(request.scope, _of_framework(request.scope, error))

    async def handle_unchanged(_: Request, error: Exception) -> Response:
        return answer_unchanged(str(error), REVALIDATED)

    install(AppError, lambda error: error)
    app.add_exception_handler(Unchanged, handle_unchanged)
    app.add_exception_handler(HTTPException, handle_framework)
    install(RequestValidationError, _of_validation)
    install(ValidationError, _of_stored)
    install(ClientDisconnect, lambda _: BadRequest("the client disconnected before the body was read"))
    for kind in (OperationalError, InterfaceError, PoolTimeout, DBAPIError):
        install(kind, _of_database)
    install(OSError, _of_system)
    install(Exception, _of_anything)


def _of_framework(scope: Scope, error: HTTPException) -> AppError:
    detail = str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND:
        is_page = BY_HTMX in Headers(scope=scope)
        detail = NO_SUCH_PAGE if is_page else "there is no such path; /docs lists those there are"
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = "this path does not take the method of the request; /docs lists those that it takes"
    refusal = AppError(detail, headers=error.headers)
    refusal.status = error.status_code
    refusal.code = _FRAMEWORK_CODES.get(error.status_code, "refused")
    return refusal


def _of_validation(error: RequestValidationError) -> AppError:
    """Describe invalid parameters and headers. Bodies are read by `app/web/request_body.py`."""
    items = error_items(error.errors())
    return BadRequest(join_details(items), errors=items)


def _of_stored(error: ValidationError) -> AppError:
    """Bodies are read by `app/web/request_body.py`, so this is a spec or a result in the database."""
    _log.error("unreadable %s: %s", error.title, summarize(error), extra={"action": "stored-unreadable"})
    return Conflict(
        "this service cannot read what is stored of it; delete it, and submit a new one", code="stored-unreadable"
    )


def _of_database(error: DBAPIError | PoolTimeout) -> AppError:
    sqlstate = find_sqlstate(error)
    if sqlstate == _DISK_FULL:
        return Unavailable("the database has no space left", code="storage-full")
    if isinstance(error, OperationalError | InterfaceError | PoolTimeout):
        _log.warning("database unavailable: %s", type(error).__name__, extra={"action": "database-unavailable"})
        return Unavailable(_DATABASE_AWAY)
    return _of_anything(error, has_frames=True)


def _of_system(error: OSError) -> AppError:
    if error.errno in NO_SPACE:
        return Unavailable("the disk has no space left for the upload", code="storage-full")
    return _of_anything(error, has_frames=True)


def _of_anything(error: Exception, *, has_frames: bool = False) -> AppError:
    """Of other errors the server logs the frames, because Starlette raises them again after the response."""
    shown = error if has_frames else None
    _log.error("unexpected %s", summarize(error), exc_info=shown, extra={"action": "internal-error"})
    return make_internal_error()


def _encodable(value: dict[str, Any]) -> dict[str, Any]:
    """Replace lone surrogates, which labels may contain and UTF-8 cannot encode."""
    replaced: dict[str, Any] = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return replaced

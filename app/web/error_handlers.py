"""Turns every exception, including the framework's, into a problem+json response (RFC 9457).

Responses never echo what a client sent, but for thirty characters round a place where a file cannot be read.
"""

import logging
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

from app.errors import NO_SPACE, AppError, BadRequest, StorageFull, StoredUnreadable, Unavailable, make_internal_error
from app.logs.failures import summarize
from app.problems import problem
from app.store.database import find_sqlstate
from app.web.access_log import note_problem
from app.web.paths import BY_HTMX, find_methods, name_paths, served_path
from app.web.problem_page import NO_SUCH_PAGE, TARGET, WHOLE_PAGE, write_missing_page, write_problem
from app.web.request_id import HEADER
from app.web.validation import error_items, join_details

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
    if isinstance(error, StorageFull):
        scope["app"].state.full_disk.note_refusal()
    body = problem(error.code, error.detail, status=error.status, instance=scope["path"], errors=error.errors)
    body["request_id"] = request_id
    headers = {HEADER: request_id, **(_RETRY if isinstance(error, Unavailable) else {}), **error.headers}
    asked = Headers(scope=scope)
    if BY_HTMX in asked:
        content = write_problem(
            _encodable(body),
            has_key="Authorization" in asked,
            is_page=asked.get("HX-Source") == WHOLE_PAGE,
            root=scope.get("root_path", "").rstrip("/"),
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
            root = request.scope.get("root_path", "").rstrip("/")
            return HTMLResponse(write_missing_page(root), HTTPStatus.NOT_FOUND, {"Vary": "Accept"})
        return problem_response(request.scope, _of_framework(app, request.scope, error))

    install(AppError, lambda error: error)
    app.add_exception_handler(HTTPException, handle_framework)
    install(RequestValidationError, _of_validation)
    install(ValidationError, _of_stored)
    install(ClientDisconnect, lambda _: BadRequest("the client disconnected before the body was read"))
    for kind in (OperationalError, InterfaceError, PoolTimeout, DBAPIError):
        install(kind, _of_database)
    install(OSError, _of_system)
    install(Exception, _of_anything)


def _of_framework(app: FastAPI, scope: Scope, error: HTTPException) -> AppError:
    detail = str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND:
        is_page = BY_HTMX in Headers(scope=scope)
        detail = NO_SUCH_PAGE if is_page else name_paths(app.openapi()["paths"])
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        one = (error.headers or {}).get("Allow", "")  # the framework names the methods of one route
        methods = find_methods(app.openapi()["paths"], served_path(scope)) or one
        methods = methods if "HEAD" in methods else methods.replace("GET", "GET, HEAD")
        error.headers = {"Allow": methods}
        detail = f"this path does not take the method of the request; it takes {methods}"
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
    return StoredUnreadable("this service cannot read what is stored of it; delete it, and submit a new one")


def _of_database(error: DBAPIError | PoolTimeout) -> AppError:
    sqlstate = find_sqlstate(error)
    if sqlstate == _DISK_FULL:
        return StorageFull("the database has no space left")
    if isinstance(error, OperationalError | InterfaceError | PoolTimeout):
        _log.warning("database unavailable: %s", type(error).__name__, extra={"action": "database-unavailable"})
        return Unavailable(_DATABASE_AWAY)
    _log.error("unexpected %s", summarize(error), exc_info=error, extra={"action": "internal-error"})
    return make_internal_error()


def _of_system(error: OSError) -> AppError:
    if error.errno in NO_SPACE:
        return StorageFull("the disk has no space left for the upload")
    _log.error("unexpected system error", exc_info=error, extra={"action": "internal-error"})
    return make_internal_error()


def _of_anything(error: Exception) -> AppError:
    """The server logs the frames, because Starlette raises the error again after the response."""
    _log.error("unexpected %s", summarize(error), extra={"action": "internal-error"})
    return make_internal_error()


def _encodable(value: Any) -> Any:
    """Replace lone surrogates, which labels may contain and UTF-8 cannot encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {name: _encodable(item) for name, item in value.items()}
    return value

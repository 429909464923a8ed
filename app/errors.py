"""What the service refuses: each class is one status and one stable code; its docstring is the title.

    AppError
    ├── BadRequest                      400  bad-request
    │   └── InvalidCursor               400  invalid-cursor
    ├── Unauthorized                    401  unauthorized
    ├── NotFound                        404  not-found
    ├── Conflict                        409
    │   ├── NotFinished                 409  not-finished
    │   ├── NoResult                    409  no-result
    │   ├── AlreadyFinished             409  already-finished
    │   ├── StillRunning                409  still-running
    │   └── IdempotencyInFlight         409  idempotency-in-flight
    ├── ContentTooLarge                 413  content-too-large
    ├── UnsupportedMediaType            415  unsupported-media-type
    ├── RefusedInput                    422  the engine's own code; 413 and 415 for two of the parser's
    ├── Unprocessable                   422  invalid-request
    │   ├── UnknownModelName            422  unknown-model
    │   ├── UnknownDataset              422  unknown-dataset
    │   └── IdempotencyMismatch         422  idempotency-mismatch
    └── Unavailable                     503  unavailable
        └── StorageFull                 503  storage-full

`error_handlers.py` turns all of them into bodies.
"""

import inspect
from collections.abc import Mapping, Sequence

from app.web.problems import ErrorItem
from lens_engine.errors import InvalidInput

_ENGINE_STATUSES = {"dataset-too-large": 413, "unsupported-media-type": 415}


class AppError(Exception):
    """The request was refused."""

    status: int = 500
    code: str = "internal-error"

    def __init__(
        self, detail: str, *, errors: Sequence[ErrorItem] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})

    @property
    def title(self) -> str:
        return title_of(self)


class BadRequest(AppError):
    """The request cannot be read."""

    status, code = 400, "bad-request"


class InvalidCursor(BadRequest):
    """The cursor is not one of ours."""

    code = "invalid-cursor"


class Unauthorized(AppError):
    """No API key, or one we do not know."""

    status, code = 401, "unauthorized"


class NotFound(AppError):
    """There is no such thing."""

    status, code = 404, "not-found"


class Conflict(AppError):
    """The state of the selection does not allow it."""

    status, code = 409, "conflict"


class NotFinished(Conflict):
    """The selection has no result yet."""

    code = "not-finished"


class NoResult(Conflict):
    """The selection ended without a result."""

    code = "no-result"


class AlreadyFinished(Conflict):
    """The selection has ended; there is nothing to cancel."""

    code = "already-finished"


class StillRunning(Conflict):
    """The selection has not ended; cancel it first."""

    code = "still-running"


class IdempotencyInFlight(Conflict):
    """A request with this Idempotency-Key is being answered."""

    code = "idempotency-in-flight"


class ContentTooLarge(AppError):
    """The request body is too large."""

    status, code = 413, "content-too-large"


class UnsupportedMediaType(AppError):
    """The request body is of a type that is not read here."""

    status, code = 415, "unsupported-media-type"


class Unprocessable(AppError):
    """The request can be read, but not carried out."""

    status, code = 422, "invalid-request"


class UnknownModelName(Unprocessable):
    """No model of this name is offered."""

    code = "unknown-model"


class UnknownDataset(Unprocessable):
    """There is no such dataset."""

    code = "unknown-dataset"


class IdempotencyMismatch(Unprocessable):
    """This Idempotency-Key came with another body before."""

    code = "idempotency-mismatch"


class Unavailable(AppError):
    """The service cannot answer now; try again."""

    status, code = 503, "unavailable"


class StorageFull(Unavailable):
    """The service has run out of disk space; try again later."""

    code = "storage-full"


class RefusedInput(AppError):
    """Something the engine or the parser refuses, under its own code and title."""

    def __init__(self, error: InvalidInput, errors: Sequence[ErrorItem]) -> None:
        super().__init__(str(error), errors=errors)
        self.status = _ENGINE_STATUSES.get(error.code, 422)
        self.code = error.code
        self._title = title_of(error)

    @property
    def title(self) -> str:
        return self._title


def title_of(error: Exception) -> str:
    """The first sentence of the class's docstring."""
    return (inspect.getdoc(type(error)) or type(error).__name__).splitlines()[0].rstrip(".")

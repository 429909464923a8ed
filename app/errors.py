"""Errors of the service. Each class has a status and a stable code; `app/problems.py` has the titles, and
docs/api.md has them in a table. `app/web/error_handlers.py` turns each error into a response.
"""

import errno
from collections.abc import Mapping, Sequence
from typing import Any, Self

from app.problems import ErrorItem
from lens_engine.errors import InvalidInput

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No space on the disk, in the quota of the account, or in the file size that the process may write."""

REPEAT = "repeat the request, with the same Idempotency-Key if it had one"
"""Advice where a submission may or may not be stored."""

STOPPING = f"the service stops; {REPEAT}"

_ENGINE_STATUSES = {"dataset-too-large": 413, "unsupported-media-type": 415}


class AppError(Exception):
    """The request was refused."""

    status: int = 500
    code: str = "internal-error"

    def __init_subclass__(cls, status: int | None = None, code: str | None = None) -> None:
        cls.status, cls.code = status or cls.status, code or cls.code

    def __init__(
        self, detail: str, *, errors: Sequence[ErrorItem] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """The error of one place."""
        return cls(detail, errors=[{"detail": detail, "pointer": pointer}])

    def __reduce__(self) -> tuple[Any, ...]:
        """An error may travel between processes. The arguments of a subclass need not make it anew."""
        return _remake, (type(self), self.detail, self.__dict__)


def make_internal_error() -> AppError:
    """The answer to an error that nobody expects, and that is in the log."""
    return AppError("quote the request id when you report this")


def _remake(kind: type[AppError], detail: str, state: dict[str, Any]) -> AppError:
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    error.__dict__.update(state)
    return error


class BadRequest(AppError, status=400, code="bad-request"): ...


class InvalidCursor(BadRequest, code="invalid-cursor"): ...


class Unauthorized(AppError, status=401, code="unauthorized"): ...


class NotLocal(AppError, status=403, code="not-local"): ...


class NotFound(AppError, status=404, code="not-found"): ...


class Conflict(AppError, status=409, code="conflict"): ...


class NotFinished(Conflict, code="not-finished"): ...


class NoResult(Conflict, code="no-result"): ...


class StoredUnreadable(Conflict, code="stored-unreadable"): ...


class NoClassifier(Conflict, code="no-classifier"): ...


class ModelMismatch(Conflict, code="model-mismatch"): ...


class ModelUnusable(Conflict):
    """The model of a classifier cannot answer, or its server does not now. The code is the engine's."""

    def __init__(self, code: str, detail: str, status: int = 409) -> None:
        super().__init__(detail, headers={"Retry-After": "5"} if status == 503 else {})
        self.code, self.status = code, status


class AlreadyFinished(Conflict, code="already-finished"): ...


class StillRunning(Conflict, code="still-running"): ...


class DatasetInUse(Conflict, code="dataset-in-use"): ...


class NotFailed(Conflict, code="not-failed"): ...


class NotCancelled(Conflict, code="not-cancelled"): ...


class NoPool(Conflict, code="no-pool"): ...


class ContradictingExample(Conflict, code="contradicting-example"): ...


class ExampleInUse(Conflict, code="example-in-use"): ...


class IdempotencyInFlight(Conflict, code="idempotency-in-flight"): ...


class PreconditionFailed(AppError, status=412, code="precondition-failed"): ...


class PreconditionRequired(AppError, status=428, code="precondition-required"): ...


class ContentTooLarge(AppError, status=413, code="content-too-large"): ...


class UnsupportedMediaType(AppError, status=415, code="unsupported-media-type"): ...


class Unprocessable(AppError, status=422, code="invalid-request"): ...


class UnknownModelName(Unprocessable, code="unknown-model"): ...


class UnknownDataset(Unprocessable, code="unknown-dataset"): ...


class UnknownSelection(Unprocessable, code="unknown-selection"): ...


class UnknownVersion(Unprocessable, code="unknown-version"): ...


class IdempotencyMismatch(Unprocessable, code="idempotency-mismatch"): ...


class TooManyRequests(AppError, status=429, code="too-many-requests"): ...


class TooManyJobs(TooManyRequests, code="too-many-selections"): ...


class OwnerFull(AppError, status=413, code="owner-full"): ...


class PoolFull(AppError, status=413, code="pool-full"): ...


class Unavailable(AppError, status=503, code="unavailable"): ...


class Busy(Unavailable, code="busy"): ...


class ModelLoading(Unavailable, code="model-loading"): ...


class AnswersAway(Unavailable, code="answers-away"): ...


class StorageFull(Unavailable, code="storage-full"): ...


class RefusedInput(AppError):
    """An input that the engine or the parser refused. The code is the error's."""

    def __init__(self, error: InvalidInput, errors: Sequence[ErrorItem]) -> None:
        super().__init__(str(error), errors=errors)
        self.status = _ENGINE_STATUSES.get(error.code, 422)
        self.code = error.code
        self.columns: tuple[str, ...] = getattr(error, "columns", ())  #: to choose among, where they are in doubt
        self.first_rows: tuple[tuple[str, ...], ...] = getattr(error, "first_rows", ())

"""Errors of the service, and problem details (RFC 9457): the form of error responses and of a failed job's `error`.

Each error has a status and a stable code, which `TITLES` names; docs/api.md has them in a table.
`app/web/error_handlers.py` turns each error into a response.
"""

import errno
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypedDict

from lens_engine.errors import InvalidInput
from lens_engine.files import ParsedDataset
from lens_engine.files.table import LABEL, TEXT, ColumnNames, show_columns

TITLES = {
    # requests
    "bad-request": "The request is malformed",
    "invalid-cursor": "The cursor is invalid",
    "unauthorized": "The API key is missing or unknown",
    "not-local": "The service accepts requests from localhost only",
    "not-found": "Not found",
    "method-not-allowed": "The resource does not support this method",
    "refused": "The request was refused",
    "conflict": "The state of the resource does not allow this request",
    "not-finished": "There is no result yet",
    "no-result": "The run ended without a result",
    "stored-unreadable": "What is stored cannot be read",
    "no-classifier": "The result has no classifier",
    "already-finished": "The run has already ended",
    "still-running": "The run has not ended yet",
    "dataset-in-use": "A job uses the dataset",
    "not-cancelled": "The run was not cancelled, and has not failed",
    "no-pool": "The prompt finds no examples for an input",
    "contradicting-example": "An example contradicts another one",
    "example-in-use": "The prompt needs the example",
    "idempotency-in-flight": "Another request with this Idempotency-Key is in progress",
    "idempotency-mismatch": "This Idempotency-Key was used with a different body",
    "precondition-failed": "The name has another version, or exists already",
    "precondition-required": "The request must say which version it changes",
    "content-too-large": "The request body is too large",
    "unsupported-media-type": "The media type or file format is not supported",
    "invalid-request": "The request is well-formed but invalid",
    "unknown-dataset": "The dataset does not exist",
    "unknown-selection": "The selection does not exist",
    "unknown-version": "The name has no such version",
    "too-many-requests": "More requests than the service allows",
    "pool-full": "The pool of the prompt has no room for more",
    "owner-full": "This owner has no room for more",
    "too-many-selections": "This owner has too many jobs queued or running",
    "unavailable": "The service is temporarily unavailable",
    "busy": "The service has too much to do",
    "model-loading": "The model is being loaded",
    "answers-away": "No process answers at once",
    "storage-full": "The service has no disk space left",
    "internal-error": "The server failed unexpectedly",
    # datasets, tasks and options
    "invalid-input": "The input is invalid",
    "invalid-dataset": "These examples cannot be used yet",
    "dataset-empty": "The dataset has fewer than two rows",
    "dataset-too-large": "The dataset has too many bytes or rows",
    "class-too-small": "A label has too few examples",
    "invalid-template": "The template is invalid",
    "invalid-instruction": "The instruction is invalid",
    "invalid-verbalizer": "The label words are invalid",
    "invalid-options": "The options are invalid",
    "prompt-too-long": "A prompt exceeds the context of the model",
    "classifier-unreadable": "The classifier cannot be read",
    "model-mismatch": "The classifier belongs to another language model",
    # runs
    "unknown-model": "The model is not available",
    "model-error": "The model cannot be used",
    "endpoint-error": "The server of the model cannot be used",
    "endpoint-away": "The server of the model does not answer",
    "budget-spent": "The limit on the cost is reached",
    "unsafe-model": "The files of the model could run code",
    "unreadable-model": "The files of the model cannot be read",
    "non-finite": "The model returned NaN or an infinity",
    "out-of-memory": "The memory is too small",
    "cluster-error": "The actors of the cluster cannot be used",
    "lens-error": "The run failed",
    "checkpoint-error": "The run cannot resume from its checkpoint",
    "checkpoint-damaged": "The checkpoint is damaged",
    "checkpoint-foreign": "The checkpoint belongs to another run",
    "nothing-selected": "The run ended before any examples were chosen",
    "spec-unreadable": "The stored spec cannot be read",
    "timeout": "The run exceeded the time limit",
    "stalled": "The run made no progress",
    "worker-crashed": "The worker crashed repeatedly",
    "worker-unfit": "No worker could run the job",
}
"""The title of each problem code."""

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No space on the disk, in the quota of the account, or in the file size that the process may write."""

REPEAT = "repeat the request, with the same Idempotency-Key if it had one"
"""Advice where a submission may or may not be stored."""

STOPPING = f"the service stops; {REPEAT}"

_ENGINE_STATUSES = {"dataset-too-large": 413, "unsupported-media-type": 415}


class ErrorItem(TypedDict, total=False):
    """One error and its place: a JSON pointer into the body, or `/dataset/rows/7/label` in a file."""

    detail: str
    pointer: str
    row: int  #: of the pool, that contradicts what was sent


def problem(
    code: str, detail: str, *, status: int | None = None, instance: str | None = None, errors: Sequence[ErrorItem] = ()
) -> dict[str, Any]:
    """Build a problem. `status` is omitted in the `error` of a failed job.

    `type` leads to the documentation that the service itself serves, at the code.
    """
    body: dict[str, Any] = {
        "type": f"/docs#{code}",
        "code": code,
        "title": TITLES[code],
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": list(errors),
    }
    return {name: value for name, value in body.items() if value is not None}


def point(*parts: str | int) -> str:
    """Build a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


class AppError(Exception):
    """The request was refused. Each status has a class, with the code of most of its errors."""

    status: int = 500
    code: str = "internal-error"

    def __init_subclass__(cls, status: int | None = None, code: str | None = None) -> None:
        cls.status, cls.code = status or cls.status, code or cls.code

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        errors: Sequence[ErrorItem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail, self.code = detail, code or self.code
        self.errors = list(errors)
        self.headers = dict(headers or {})

    @classmethod
    def at(cls, pointer: str, detail: str, code: str | None = None) -> Self:
        """The error of one place."""
        return cls(detail, code=code, errors=[{"detail": detail, "pointer": pointer}])

    def __reduce__(self) -> tuple[Any, ...]:
        """An error may travel between processes. The arguments of a subclass need not make it anew."""
        return type(self).__new__, (type(self), self.detail), self.__dict__


def make_internal_error() -> AppError:
    """The answer to an error that nobody expects, and that is in the log."""
    return AppError("quote the request id when you report this")


class BadRequest(AppError, status=400, code="bad-request"): ...


class Unauthorized(AppError, status=401, code="unauthorized"): ...


class NotLocal(AppError, status=403, code="not-local"): ...


class NotFound(AppError, status=404, code="not-found"): ...


class Conflict(AppError, status=409, code="conflict"): ...


class NotFinished(Conflict, code="not-finished"): ...


class NoResult(Conflict, code="no-result"): ...


class PreconditionFailed(AppError, status=412, code="precondition-failed"): ...


class PreconditionRequired(AppError, status=428, code="precondition-required"): ...


class ContentTooLarge(AppError, status=413, code="content-too-large"): ...


class UnsupportedMediaType(AppError, status=415, code="unsupported-media-type"): ...


class Unprocessable(AppError, status=422, code="invalid-request"): ...


class TooManyRequests(AppError, status=429, code="too-many-requests"): ...


class Unavailable(AppError, status=503, code="unavailable"): ...


class RefusedInput(AppError):
    """An input that the engine or the parser refused. The code is the error's."""

    def __init__(self, error: InvalidInput, errors: Sequence[ErrorItem]) -> None:
        super().__init__(str(error), errors=errors)
        self.status = _ENGINE_STATUSES.get(error.code, 422)
        self.code = error.code
        self.columns: tuple[str, ...] = getattr(error, "columns", ())  #: to choose among, where they are in doubt
        self.first_rows: tuple[tuple[str, ...], ...] = getattr(error, "first_rows", ())


_INLINE_NAMES = {"dataset": "examples", "test": "test_examples"}
_INLINE = frozenset(_INLINE_NAMES.values())
Columns = tuple[ColumnNames, str]
"""Names of the columns of the texts and the labels."""

_BARE = frozenset({"texts", "dataset_id", "test_dataset_id", "text_column", "label_column", "delimiter", "encoding"})


@contextmanager
def invalid_inputs(**parts: object) -> Iterator[None]:
    """Turn an `InvalidInput` of the block into `RefusedInput`.

    Args:
        parts: the rows of `dataset` and `test`. A `ParsedDataset` says whether the rows are in the JSON body, and how
            the columns are called that errors call text and label.
    """
    try:
        yield
    except InvalidInput as error:
        parsed = {name: rows for name, rows in parts.items() if isinstance(rows, ParsedDataset)}
        inline = [name for name, rows in parsed.items() if rows.format == "inline"]
        columns = {name: rows.columns for name, rows in parsed.items()}
        raise RefusedInput(error, as_items(error, inline, columns)) from error


def as_items(
    error: InvalidInput, inline: Collection[str] = (), columns: Mapping[str, Columns] | None = None
) -> list[ErrorItem]:
    """All faults of one error, each with its pointer.

    Args:
        inline: those of `dataset` and `test` whose rows are in the JSON body.
        columns: of `dataset` and `test`, for errors that call them text and label.
    """
    return [
        {"detail": fault.detail, "pointer": _point(_rename(fault.field, columns or {}), fault.row, inline)}
        for fault in error.faults
    ]


def _rename(field: str, columns: Mapping[str, Columns]) -> str:
    root, _, column = field.partition(".")
    names = dict(zip((TEXT, LABEL), map(show_columns, columns.get(root, ())), strict=False))
    return f"{root}.{names[column]}" if column in names else field


def _point(field: str, row: int | None, inline: Collection[str]) -> str:
    """Build the JSON pointer: `/spec/...`, `/dataset/rows/7/label` in a file, `/examples/7/label` inline."""
    root, _, rest = field.partition(".")
    if root in {*_INLINE_NAMES, *_INLINE}:
        name = _INLINE_NAMES[root] if root in inline else root
        rows: tuple[str | int, ...] = () if row is None else (row,) if name in _INLINE else ("rows", row)
        return point(name, *rows, *([rest] if rest else []))
    if root in _BARE:
        return point(root)
    # A label may contain dots and is one part of the path.
    parts = [rest] if root == "verbalizer" else rest.split(".")
    return point("spec", root, *(part for part in parts if part))

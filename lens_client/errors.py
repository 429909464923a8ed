"""What the service refuses: a class for each code of a problem (RFC 9457), named after it.

A caller catches the class that it can act on, or `Problem` for all. A code that this release does not know is a
`Problem` with its `code`.
"""

import re
from typing import Any, ClassVar

import httpx

from lens_client.models import Job


class ClientError(Exception):
    """Base of all errors of the client."""


class Unreachable(ClientError):
    """The service did not answer, also when it was asked again. A submission may be stored."""


class TimedOut(ClientError):
    """The selection did not end within the time that the caller gave."""


class NotSucceeded(ClientError):
    """The job failed or was cancelled."""

    def __init__(self, job: Job) -> None:
        self.job = job
        why = (job.error or {}).get("detail", "")
        super().__init__(f"{job.id} ended as {job.status}{f': {why}' if why else ''}")


class Problem(ClientError):
    """A refusal of the service."""

    code: str = ""
    kinds: ClassVar[dict[str, type["Problem"]]] = {}

    def __init_subclass__(cls) -> None:
        cls.code = re.sub("(?<=.)([A-Z])", r"-\1", cls.__name__).lower()
        Problem.kinds[cls.code] = cls

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status, self.body = status, body
        self.code = str(body.get("code", self.code))
        self.detail = str(body.get("detail") or body.get("title") or f"the service answered {status}")
        self.errors: list[dict[str, Any]] = list(body.get("errors", []))
        self.request_id = body.get("request_id")
        super().__init__(f"{self.detail} ({self.code or status})")


def problem_of(answer: httpx.Response) -> Problem:
    """The error of an answer that is a refusal."""
    body: Any = answer.json() if "json" in answer.headers.get("Content-Type", "") else None
    if not isinstance(body, dict):  # of a proxy
        body = {"detail": f"{answer.status_code} {answer.reason_phrase}"}
    return Problem.kinds.get(str(body.get("code")), Problem)(answer.status_code, body)


class BadRequest(Problem): ...


class InvalidCursor(BadRequest): ...


class Unauthorized(Problem): ...


class NotLocal(Problem): ...


class NotFound(Problem): ...


class MethodNotAllowed(Problem): ...


class Conflict(Problem): ...


class NotFinished(Conflict): ...


class NoResult(Conflict): ...


class NoClassifier(Conflict): ...


class AlreadyFinished(Conflict): ...


class StillRunning(Conflict): ...


class DatasetInUse(Conflict): ...


class NotFailed(Conflict): ...


class NotCancelled(Conflict): ...


class NoPool(Conflict): ...


class ContradictingExample(Conflict): ...


class ExampleInUse(Conflict): ...


class IdempotencyInFlight(Conflict): ...


class PreconditionFailed(Problem): ...


class PreconditionRequired(Problem): ...


class ContentTooLarge(Problem): ...


class OwnerFull(Problem): ...


class PoolFull(Problem): ...


class UnsupportedMediaType(Problem): ...


class InvalidRequest(Problem): ...


class UnknownModel(InvalidRequest): ...


class UnknownDataset(InvalidRequest): ...


class UnknownSelection(InvalidRequest): ...


class UnknownVersion(InvalidRequest): ...


class IdempotencyMismatch(InvalidRequest): ...


class InvalidDataset(InvalidRequest): ...


class DatasetEmpty(InvalidDataset): ...


class DatasetTooLarge(InvalidDataset): ...


class ClassTooSmall(InvalidDataset): ...


class InvalidTemplate(InvalidRequest): ...


class InvalidInstruction(InvalidRequest): ...


class InvalidVerbalizer(InvalidRequest): ...


class InvalidOptions(InvalidRequest): ...


class PromptTooLong(InvalidRequest): ...


class TooManyRequests(Problem): ...


class TooManySelections(TooManyRequests): ...


class TooManyOutputs(TooManyRequests): ...


class TooManyStreams(TooManyRequests): ...


class InternalError(Problem): ...


class Unavailable(Problem): ...


class Busy(Unavailable): ...


class StorageFull(Unavailable): ...

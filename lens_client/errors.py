"""Errors of the client.

LensError
├── Problem        the service refused; `code` says why
├── Unreachable    the service did not answer
├── TimedOut       a job runs longer than the caller waits
└── NotSucceeded   a job failed or was cancelled
"""

from typing import Any

import httpx

from lens_client.calls import read_retry_after
from lens_client.models import Selection


class LensError(Exception):
    """Base of all errors of the client."""


class Problem(LensError):
    """A refusal of the service (problem details, RFC 9457), or an error of a proxy before it.

    Compare `code`: `error.code == "not-found"`. docs/api.md lists the codes.
    """

    def __init__(self, answer: httpx.Response) -> None:
        body = _read_body(answer)
        self.status = answer.status_code
        self.code = str(body.get("code", ""))  #: stable; empty in the answer of a proxy
        #: the same for every problem of this code
        self.title = str(body.get("title") or f"{self.status} {answer.reason_phrase}")
        self.detail = str(body.get("detail") or self.title)  #: what is wrong with this request
        #: of each place: `detail`, and `pointer` to it
        self.errors: list[dict[str, Any]] = list(body.get("errors") or [])
        self.request_id: str | None = body.get("request_id")  #: to be quoted in a report
        self.retry_after = read_retry_after(answer)  #: seconds; None if the service names no time
        super().__init__(f"{self.detail} ({self.code or self.status})")


class Unreachable(LensError):
    """The service did not answer, also when it was asked again. A submission may be stored."""


class TimedOut(LensError):
    """The job did not end within the time that the caller gave. It goes on."""


class NotSucceeded(LensError):
    """The job failed or was cancelled."""

    def __init__(self, job: Selection) -> None:
        self.job = job
        why = (job.error or {}).get("detail", "")
        super().__init__(f"{job.id} ended as {job.status}{f': {why}' if why else ''}")


def _read_body(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:  # of a proxy
        return {}
    return body if isinstance(body, dict) else {}

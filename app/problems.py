"""The one shape of a refusal: RFC 9457 problem details, on the wire and in a failed selection's `error`."""

from collections.abc import Sequence
from typing import Any, TypedDict

from app.settings import Settings

TITLES: dict[str, str] = {
    "worker-crashed": "The worker crashed",
}


class ErrorItem(TypedDict, total=False):
    """One thing that is wrong, and where in the request (JSON pointer) or the file (`/dataset/rows/7/label`)."""

    detail: str
    pointer: str


def problem(
    code: str,
    detail: str,
    *,
    settings: Settings,
    instance: str | None = None,
    errors: Sequence[ErrorItem] = (),
) -> dict[str, Any]:
    """A problem without status, for the `error` of a selection whose run failed.

    `code` is stable: the last part of `type`, an absolute URI.
    """
    body: dict[str, Any] = {
        "type": problem_type(settings, code),
        "title": TITLES.get(code, code.replace("-", " ").capitalize()),
        "detail": detail,
        "errors": list(errors),
    }
    if instance is not None:
        body["instance"] = instance
    return body


def problem_type(settings: Settings, code: str) -> str:
    return f"{settings.public_url.rstrip('/')}/problems/{code}"

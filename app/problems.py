"""Problem details (RFC 9457): the form of error responses and of a failed selection's `error`."""

from collections.abc import Sequence
from typing import Any, TypedDict

from app.settings import Settings


class ErrorItem(TypedDict, total=False):
    """One error and its place: a JSON pointer into the body, or `/dataset/rows/7/label` in a file."""

    detail: str
    pointer: str


def problem(
    code: str,
    detail: str,
    *,
    settings: Settings,
    title: str | None = None,
    status: int | None = None,
    instance: str | None = None,
    errors: Sequence[ErrorItem] = (),
) -> dict[str, Any]:
    """Build a problem. `status` is omitted in the `error` of a failed selection.

    `type` is an absolute URI that ends with `code`. Codes are stable, whatever the address of the service is.
    """
    body: dict[str, Any] = {
        "type": f"{settings.public_url.rstrip('/')}/problems/{code}",
        "code": code,
        "title": title or code.replace("-", " ").capitalize(),
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": list(errors),
    }
    return {name: value for name, value in body.items() if value is not None}


def point(*parts: str | int) -> str:
    """Build a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)

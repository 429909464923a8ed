"""The one shape of a refusal: RFC 9457 problem details, on the wire and in a failed selection's `error`."""

from collections.abc import Sequence
from typing import Any, TypedDict

from app.settings import Settings


class ErrorItem(TypedDict, total=False):
    """One thing that is wrong, and where: a JSON pointer into the body, or `/dataset/rows/7/label`."""

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
    """A problem; without status as the `error` of a selection whose run failed.

    `code` is stable: the last part of `type`, an absolute URI.
    """
    body: dict[str, Any] = {
        "type": f"{settings.public_url.rstrip('/')}/problems/{code}",
        "title": title or code.replace("-", " ").capitalize(),
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": list(errors),
    }
    return {name: value for name, value in body.items() if value is not None}


def point(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def error_items(found: Sequence[Any], *, skip: int = 0, prefix: Sequence[str] = ()) -> list[ErrorItem]:
    """Pydantic's findings without the input they were found in; the first ten."""
    return [{"detail": item["msg"], "pointer": point(*prefix, *item["loc"][skip:])} for item in found[:10]]

"""Fields of every log line of a request or an attempt: `request_id`, `owner`, `job_id`, `attempt`."""

from typing import Any

from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars


def begin(**fields: object) -> None:
    """Forget the fields of this context, and add these. Call it where a request or an attempt begins.

    Nothing resets the fields at the end, because the server logs an error of a request after the application has
    returned. Each request has a context of its own.
    """
    clear_contextvars()
    bind_contextvars(**fields)


def add(**fields: object) -> None:
    """Add fields to the following lines of this context."""
    bind_contextvars(**fields)


def get(name: str) -> Any:
    """A field of this context; None without it."""
    return get_contextvars().get(name)

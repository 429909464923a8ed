"""The problem (RFC 9457) of a failed run, in the same form as the API's refusals."""

from typing import Any

from app.intake.refusals import as_items
from app.lifecycle.claims import Claim
from app.lifecycle.spec import SpecUnreadable
from app.problems import problem
from app.settings import Settings
from lens_engine.errors import EndpointError, InvalidInput, LensError


def describe_failure(error: LensError | MemoryError, instance: str, *, inline: bool = False) -> dict[str, Any]:
    """Describe an error that another attempt would repeat.

    Args:
        inline: whether the rows came in a JSON body, where pointers lead to them.
    """
    if isinstance(error, MemoryError):
        detail = "the machine has not enough memory for this dataset and model"
        return problem("out-of-memory", detail, instance=instance)
    errors = as_items(error, inline=inline) if isinstance(error, InvalidInput) else []
    return problem(error.code, tell_owner(error), instance=instance, errors=errors)


def tell_owner(error: Exception) -> str:
    """The message of an error, without what a server said: that may name hosts, or repeat a part of a key."""
    return error.sentence if isinstance(error, EndpointError) else str(error)


def describe_unreadable_spec(error: SpecUnreadable, instance: str) -> dict[str, Any]:
    """Describe a stored spec that cannot be read."""
    return problem(error.code, str(error), instance=instance, errors=error.errors)


def describe_timeout(settings: Settings, claim: Claim) -> dict[str, Any]:
    """Describe a run that did not end before its time limit."""
    mend = (
        "set a smaller budget max_seconds, or fewer test rows (splits.test), to end earlier with the best so far"
        if claim.kind == "selection"
        else f"the rows that are done are kept: POST {claim.path}/retry goes on with the next"
    )
    detail = f"the run did not end within the service's time limit of {settings.job_timeout_seconds} s; {mend}"
    return problem("timeout", detail, instance=claim.path)

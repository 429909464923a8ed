"""A client of the Lens service: `client.prompts.render("support-triage", "I was charged twice")`.

It needs httpx and pydantic alone. `LensClient` blocks, `AsyncLensClient` is for asyncio; both have the same calls.

models              answers
errors              refusals of the service, and what else goes wrong
calls               paths, bodies and waits
async_connection    how the service is asked: repeats, ETags, pages
async_classifying   texts and files that are classified in batches
async_resources     calls of selections, names and datasets
async_client        the client

`.ci/blocking_client.py` writes `connection`, `classifying`, `resources` and `client` from the modules for asyncio.
"""

from lens_client.async_client import AsyncLensClient
from lens_client.client import LensClient
from lens_client.errors import LensError, NotSucceeded, Problem, TimedOut, Unreachable

__all__ = ["AsyncLensClient", "LensClient", "LensError", "NotSucceeded", "Problem", "TimedOut", "Unreachable"]

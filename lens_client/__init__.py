"""A client of the Lens service: `client.prompts.render("support-triage", "I was charged twice")`.

It needs httpx and pydantic alone. `LensClient` blocks, `AsyncLensClient` is for asyncio; both have the same calls.

models       answers
errors       a class for each code of a refusal
flows        what is asked, and when again: Retry-After, Idempotency-Key, ETag
jobs  async_jobs             calls of selections, evaluations and predictions
resources  async_resources   calls of names and datasets
clients      the two clients
"""

from lens_client import errors
from lens_client.clients import AsyncLensClient, LensClient
from lens_client.errors import ClientError, NotSucceeded, Problem

__all__ = ["AsyncLensClient", "ClientError", "LensClient", "NotSucceeded", "Problem", "errors"]

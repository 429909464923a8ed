"""Selections of the service."""

import asyncio
from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from lens_client.async_classifying import AsyncFindings
from lens_client.calls import File, read_retry_after
from lens_client.errors import NotSucceeded, TimedOut
from lens_client.models import Event, Selection, Status, SuspiciousLabel

_POLL_SECONDS = 2.0  #: between two looks at a selection, where the service names no time


class AsyncSelections(AsyncFindings):
    """Selections of the owner of the key."""

    kind = "selections"

    async def get(self, selection_id: str) -> Selection:
        """Read a selection."""
        return await self._connection.read_as(Selection, self._path(selection_id))

    async def wait(
        self, selection_id: str, *, on_change: Callable[[Selection], None] | None = None, timeout: float | None = None
    ) -> Selection:
        """Poll until the selection has succeeded, as often as the service asks for.

        Args:
            on_change: gets the selection at each poll.
            timeout: seconds; None for no limit.

        Raises:
            NotSucceeded: it failed or was cancelled.
            TimedOut: it has not ended within `timeout`.
        """
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            answer = await self._connection.read(self._path(selection_id))
            job = Selection.model_validate_json(answer.content)
            if on_change is not None:
                on_change(job)
            if job.status == "succeeded":
                return job
            if job.has_ended:
                raise NotSucceeded(job)
            seconds = read_retry_after(answer)
            seconds = _POLL_SECONDS if seconds is None else seconds
            if deadline is not None:
                left = deadline - monotonic()
                if left <= 0:
                    raise TimedOut(f"{job.id} is {job.status} after {timeout:g} s")
                seconds = min(seconds, left)
            await asyncio.sleep(seconds)

    async def events(self, selection_id: str) -> List[Event]:
        """The history of a selection, oldest first."""
        return await self._connection.read_pages(Event, self._path(selection_id, "events"))

    async def cancel(self, selection_id: str) -> Selection:
        """Cancel a selection; what it has so far is kept."""
        return await self._connection.ask_as(Selection, "POST", self._path(selection_id, "cancel"))

    async def resume(self, selection_id: str) -> Selection:
        """Queue a cancelled or failed selection again."""
        return await self._connection.ask_as(Selection, "POST", self._path(selection_id, "resume"))

    async def delete(self, selection_id: str) -> None:
        """Delete an ended selection."""
        await self._connection.ask("DELETE", self._path(selection_id))

    async def submit(
        self,
        dataset: File | None = None,
        *,
        test: File | None = None,
        spec: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **parts: Any,
    ) -> Selection:
        """Submit a dataset: a file, or by `examples` or `dataset_id`.

        Args:
            dataset, test: path or content of a CSV or JSONL file.
            spec: template and instruction (each a text, or a list of several to choose among), verbalizer, model,
                preset, options and name; see docs/api.md.
            idempotency_key: a repeat with the same key makes no second selection; drawn by default.
            parts: `text_column`, `label_column`, `delimiter` and `encoding` of files; or `examples`, `dataset_id` and
                their test rows.
        """
        given = {"spec": dict(spec or {}), **parts}
        files = {"dataset": dataset, "test": test}
        return await self._connection.submit(Selection, "/selections", files, given, idempotency_key)

    async def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """Your selections, newest first, without their specs."""
        return await self._connection.read_pages(Selection, "/selections", most, status=status)

    async def result(self, selection_id: str, *, pool: bool = False) -> dict[str, Any]:
        """Everything that the run found. `pool`: with the rows in which prompts find demonstrations, up to 20,000."""
        path = self._path(selection_id, "result")
        return await self._connection.read_json(path, pool=True if pool else None)

    async def report(self, selection_id: str) -> bytes:
        """A report for people, as HTML."""
        return await self._connection.read_bytes(self._path(selection_id, "report"))

    async def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """Rows whose label is probably wrong, the most suspicious first."""
        shown = await self._connection.read_json(self._path(selection_id, "suspicious-labels"))
        return [SuspiciousLabel.model_validate(item) for item in shown["items"]]

# Made from lens_client/async_selections.py by `python .ci/blocking_client.py`: change that file, and run the command.
"""Selections of the service."""

import time
from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from lens_client.calls import File, read_retry_after
from lens_client.classifying import Findings
from lens_client.errors import NotSucceeded, TimedOut
from lens_client.models import Event, Selection, Status, SuspiciousLabel

_POLL_SECONDS = 2.0  #: between two looks at a selection, where the service names no time


class Selections(Findings):
    """Selections of the owner of the key."""

    kind = "selections"

    def get(self, selection_id: str) -> Selection:
        """Read a selection."""
        return self._connection.read_as(Selection, self._path(selection_id))

    def wait(
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
            answer = self._connection.read(self._path(selection_id))
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
            time.sleep(seconds)

    def events(self, selection_id: str) -> List[Event]:
        """The history of a selection, oldest first."""
        return self._connection.read_pages(Event, self._path(selection_id, "events"))

    def cancel(self, selection_id: str) -> Selection:
        """Cancel a selection; what it has so far is kept."""
        return self._connection.ask_as(Selection, "POST", self._path(selection_id, "cancel"))

    def resume(self, selection_id: str) -> Selection:
        """Queue a cancelled or failed selection again."""
        return self._connection.ask_as(Selection, "POST", self._path(selection_id, "resume"))

    def delete(self, selection_id: str) -> None:
        """Delete an ended selection."""
        self._connection.ask("DELETE", self._path(selection_id))

    def submit(
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
        return self._connection.submit(Selection, "/selections", files, given, idempotency_key)

    def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """Your selections, newest first, without their specs."""
        return self._connection.read_pages(Selection, "/selections", most, status=status)

    def result(self, selection_id: str, *, pool: bool = False) -> dict[str, Any]:
        """Everything that the run found. `pool`: with the rows in which prompts find demonstrations, up to 20,000."""
        path = self._path(selection_id, "result")
        return self._connection.read_json(path, pool=True if pool else None)

    def report(self, selection_id: str) -> bytes:
        """A report for people, as HTML."""
        return self._connection.read_bytes(self._path(selection_id, "report"))

    def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """Rows whose label is probably wrong, the most suspicious first."""
        shown = self._connection.read_json(self._path(selection_id, "suspicious-labels"))
        return [SuspiciousLabel.model_validate(item) for item in shown["items"]]

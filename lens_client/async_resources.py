"""Selections, names and datasets of the service."""

import asyncio
from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from lens_client.async_classifying import AsyncClassifying, AsyncFindings, Heard
from lens_client.async_connection import AsyncConnection
from lens_client.calls import File, leave_none_out, make_form, path_of, read_retry_after
from lens_client.errors import NotSucceeded, Problem, TimedOut
from lens_client.models import (
    Dataset,
    Evaluation,
    Event,
    LabelSuggestions,
    PromptExample,
    PromptKind,
    PromptVersion,
    Selection,
    Status,
    SuspiciousLabel,
    Use,
)

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
        """Rows whose label may be wrong, the most suspicious first."""
        shown = await self._connection.read_json(self._path(selection_id, "suspicious-labels"))
        return [SuspiciousLabel.model_validate(item) for item in shown["items"]]


class AsyncPrompts(AsyncFindings):
    """Names that production reads.

    A change names the version that it changes, so that no change of somebody else is overwritten unseen. Such a change
    is refused with code `precondition-failed`, and is not repeated where its answer was lost.
    """

    kind = "prompts"

    async def put(
        self,
        name: str,
        *,
        selection_id: str | None = None,
        version: int | None = None,
        note: str | None = None,
        if_version: int | None = None,
    ) -> PromptVersion:
        """Let a name say what a selection found, or what a version said.

        Args:
            if_version: the version that is changed; None for the one that the name has now, or for a new name.

        Raises:
            Problem: with code `precondition-failed`: somebody else changed the name meanwhile.
        """
        try:
            headers = await self._name_version(name, if_version)
        except Problem as problem:
            if problem.code != "not-found":
                raise
            headers = {"If-None-Match": "*"}
        given = leave_none_out({"selection_id": selection_id, "version": version, "note": note})
        return await self._change("PUT", self._path(name), headers, json=given)

    async def get(self, name: str) -> PromptVersion:
        """Which version a name has."""
        return await self._connection.read_as(PromptVersion, self._path(name))

    async def list(self, *, most: int | None = None) -> List[PromptVersion]:
        """Your names with their versions."""
        return await self._connection.read_pages(PromptVersion, "/prompts", most)

    async def versions(self, name: str, *, most: int | None = None) -> List[PromptVersion]:
        """The versions of a name, newest first."""
        return await self._connection.read_pages(PromptVersion, self._path(name, "versions"), most)

    async def delete(self, name: str, *, if_version: int) -> None:
        """Delete a name that has this version."""
        headers = {"If-Match": f'"{if_version}"'}
        await self._connection.ask("DELETE", self._path(name), is_repeatable=False, headers=headers)

    async def examples(self, name: str, *, most: int | None = None) -> List[PromptExample]:
        """The pool of a name: the labelled rows in which its prompts find the demonstrations of an input."""
        return await self._connection.read_pages(PromptExample, self._path(name, "examples"), most)

    async def add_examples(
        self, name: str, examples: Iterable[tuple[str, str]], *, note: str | None = None, if_version: int | None = None
    ) -> PromptVersion:
        """Add rows to the pool of a name, all or none. The next prompt may show them; a classifier learns nothing from
        them, and `warning` of the version says so.

        Args:
            examples: pairs of text and label, at most 200.
            if_version: the version that is changed; None for the one that the name has now.

        Raises:
            Problem: with code `contradicting-example`: a row of the pool has the same text with another label;
                `errors` name it. With `no-pool`: the prompts of this name show the same support examples for every
                input. With `precondition-failed`: somebody else changed the name meanwhile.
        """
        headers = await self._name_version(name, if_version)
        rows = [{"text": text, "label": label} for text, label in examples]
        body = {"examples": rows, **leave_none_out({"note": note})}
        return await self._change("POST", self._path(name, "examples"), headers, json=body)

    async def take_example_out(
        self, name: str, row: int, *, note: str | None = None, if_version: int | None = None
    ) -> PromptVersion:
        """Take a row out of the pool of a name; see `add_examples`."""
        headers = await self._name_version(name, if_version)
        path = self._path(name, "examples", str(int(row)))
        return await self._change("DELETE", path, headers, params=leave_none_out({"note": note}))

    async def make_dataset(self, name: str) -> Dataset:
        """Store the pool of a name and its support examples as a dataset, from which a new selection can start."""
        return await self._connection.ask_as(Dataset, "POST", self._path(name, "dataset"))

    async def evaluate(
        self,
        name: str,
        path: str | Path,
        *,
        keep: bool = False,
        title: str | None = None,
        prompts: PromptKind | None = None,
        use: Use | None = None,
        fixed: bool = False,
        on_batch: Heard = lambda _done, _total: None,
        **parts: Any,
    ) -> Evaluation:
        """Judge what a name says on a file of labelled texts.

        Args:
            keep: whether the figures are kept with the version.
            title: what the rows are called; the name of the file by default.
            parts: `text_column`, `label_column`, `delimiter` and `encoding` of the file.
        """
        wish = {"prompts": prompts, "use": use, "fixed": fixed or None}
        asking = AsyncClassifying(self._connection, self._path(name), wish)
        return await asking.evaluate_file(Path(path), parts, keep, title, on_batch)

    async def evaluations(self, name: str, *, most: int | None = None) -> List[Evaluation]:
        """The figures that were kept of a name, newest first."""
        return await self._connection.read_pages(Evaluation, self._path(name, "evaluations"), most)

    async def _name_version(self, name: str, if_version: int | None) -> dict[str, str]:
        """The header that names the version which a change expects; by default the one that the name has now."""
        version = (await self.get(name)).version if if_version is None else if_version
        return {"If-Match": f'"{version}"'}

    async def _change(self, method: str, path: str, headers: dict[str, str], **arguments: Any) -> PromptVersion:
        return await self._connection.ask_as(
            PromptVersion, method, path, is_repeatable=False, headers=headers, **arguments
        )


class AsyncDatasets:
    """Stored datasets of the owner of the key."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def store(self, dataset: File | None = None, **parts: Any) -> Dataset:
        """Store a file, or `examples`; equal rows are stored once. `parts`: as of `AsyncSelections.submit`."""
        return await self._connection.submit(Dataset, "/datasets", {"dataset": dataset}, parts)

    async def get(self, dataset_id: str) -> Dataset:
        """What is known of a dataset."""
        return await self._connection.read_as(Dataset, path_of("datasets", dataset_id))

    async def list(self, *, most: int | None = None) -> List[Dataset]:
        """Your datasets, newest first."""
        return await self._connection.read_pages(Dataset, "/datasets", most)

    async def suggest_labels(self, texts: Sequence[str] | Path, **given: Any) -> LabelSuggestions:
        """Which texts to label next, of a list or of a file.

        Args:
            given: `dataset_id` or `selection_id` of the labelled rows, the number `n`, and `seed`.
        """
        body = (
            make_form({"texts": texts}, given, {}) if isinstance(texts, Path) else {"json": {"texts": texts, **given}}
        )
        return await self._connection.ask_as(LabelSuggestions, "POST", "/label-suggestions", **body)

    async def delete(self, dataset_id: str) -> None:
        """Delete a dataset that no job uses."""
        await self._connection.ask("DELETE", path_of("datasets", dataset_id))

"""Names and datasets of the service, for callers with asyncio."""

from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Iterable
from typing import Any

from lens_client.async_jobs import AsyncRun
from lens_client.flows import File, Flows, path_of
from lens_client.jobs import PromptKind
from lens_client.models import (
    Dataset,
    PromptExample,
    PromptVersion,
    Rendered,
    SupportExamples,
    Use,
)


class AsyncPrompts:
    """Names that production reads."""

    def __init__(self, flows: Flows, run: AsyncRun) -> None:
        self._flows, self._run = flows, run

    async def put(
        self,
        name: str,
        *,
        selection_id: str | None = None,
        version: int | None = None,
        note: str | None = None,
        if_version: int | None = None,
    ) -> PromptVersion:
        """As `Prompts.put`."""
        return await self._run(
            self._flows.put(name, {"selection_id": selection_id, "version": version, "note": note}, if_version)
        )

    async def get(self, name: str) -> PromptVersion:
        """As `Prompts.get`."""
        return await self._run(self._flows.read_as(PromptVersion, path_of("prompts", name)))

    async def list(self, *, most: int | None = None) -> List[PromptVersion]:
        """As `Prompts.list`."""
        return await self._run(self._flows.read_pages(PromptVersion, "/prompts", most))

    async def versions(self, name: str, *, most: int | None = None) -> List[PromptVersion]:
        """As `Prompts.versions`."""
        return await self._run(self._flows.read_pages(PromptVersion, path_of("prompts", name, "versions"), most))

    async def delete(self, name: str, *, if_version: int) -> None:
        """As `Prompts.delete`."""
        await self._run(self._flows.delete(path_of("prompts", name), {"If-Match": f'"{if_version}"'}))

    async def support_examples(self, name: str, *, use: Use | None = None, input: str | None = None) -> SupportExamples:
        """As `Prompts.support_examples`."""
        return await self._run(self._flows.support_examples(path_of("prompts", name), use, input))

    async def examples(self, name: str, *, most: int | None = None) -> List[PromptExample]:
        """As `Prompts.examples`."""
        return await self._run(self._flows.read_pages(PromptExample, path_of("prompts", name, "examples"), most))

    async def add_examples(
        self,
        name: str,
        examples: Iterable[tuple[str, str]],
        *,
        note: str | None = None,
        if_version: int | None = None,
    ) -> PromptVersion:
        """As `Prompts.add_examples`."""
        return await self._run(self._flows.add_examples(name, examples, note, if_version))

    async def take_example_out(
        self, name: str, row: int, *, note: str | None = None, if_version: int | None = None
    ) -> PromptVersion:
        """As `Prompts.take_example_out`."""
        return await self._run(self._flows.take_example_out(name, row, note, if_version))

    async def make_dataset(self, name: str) -> Dataset:
        """As `Prompts.make_dataset`."""
        return await self._run(self._flows.make_dataset(name))

    async def classifier(self, name: str) -> dict[str, Any]:
        """As `Prompts.classifier`."""
        return await self._run(self._flows.read_json(path_of("prompts", name, "classifier")))

    async def render(
        self, name: str, inputs: str | List[str], *, prompts: PromptKind = "support_examples", use: Use | None = None
    ) -> Rendered:
        """As `Prompts.render`."""
        return await self._run(self._flows.render(path_of("prompts", name), inputs, prompts, use))

    async def export(self, name: str, format: str = "json", *, use: Use | None = None) -> bytes:
        """As `Prompts.export`."""
        return await self._run(self._flows.read_bytes(path_of("prompts", name, "export"), format=format, use=use))


class AsyncDatasets:
    """Stored datasets of the owner of the key."""

    def __init__(self, flows: Flows, run: AsyncRun) -> None:
        self._flows, self._run = flows, run

    async def store(self, dataset: File | None = None, **parts: Any) -> Dataset:
        """As `Datasets.store`."""
        return await self._run(self._flows.submit(Dataset, "/datasets", {"dataset": dataset}, parts))

    async def get(self, dataset_id: str) -> Dataset:
        """As `Datasets.get`."""
        return await self._run(self._flows.read_as(Dataset, path_of("datasets", dataset_id)))

    async def list(self, *, most: int | None = None) -> List[Dataset]:
        """As `Datasets.list`."""
        return await self._run(self._flows.read_pages(Dataset, "/datasets", most))

    async def report(self, dataset_id: str) -> dict[str, Any]:
        """As `Datasets.report`."""
        return await self._run(self._flows.read_json(path_of("datasets", dataset_id, "report")))

    async def delete(self, dataset_id: str) -> None:
        """As `Datasets.delete`."""
        await self._run(self._flows.delete(path_of("datasets", dataset_id)))

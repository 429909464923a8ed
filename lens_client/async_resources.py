"""The resources of the service, for callers with asyncio."""

from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from lens_client.flows import File, Flow, Flows, path_of
from lens_client.models import PromptVersion, Rendered, Selection, Status, SupportExamples, SuspiciousLabel, Use
from lens_client.resources import PromptKind

T = TypeVar("T")


class AsyncRun(Protocol):
    """Runs a flow to its end."""

    async def __call__(self, flow: Flow[T], /) -> T: ...


class AsyncSelections:
    """Selections of the owner of the key."""

    def __init__(self, flows: Flows, run: AsyncRun) -> None:
        self._flows, self._run = flows, run

    async def submit(
        self,
        dataset: File | None = None,
        *,
        test: File | None = None,
        spec: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **parts: Any,
    ) -> Selection:
        """As `Selections.submit`."""
        return await self._run(self._flows.submit(dataset, test, spec, parts, idempotency_key))

    async def get(self, selection_id: str) -> Selection:
        """As `Selections.get`."""
        return await self._run(self._flows.read_as(Selection, path_of("selections", selection_id)))

    async def wait(
        self, selection_id: str, *, on_change: Callable[[Selection], None] | None = None, timeout: float | None = None
    ) -> Selection:
        """As `Selections.wait`."""
        return await self._run(self._flows.wait(selection_id, on_change, timeout))

    async def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """As `Selections.list`."""
        return await self._run(self._flows.read_pages(Selection, "/selections", most, status=status))

    async def cancel(self, selection_id: str) -> Selection:
        """As `Selections.cancel`."""
        return await self._run(self._flows.change(selection_id, "cancel"))

    async def resume(self, selection_id: str) -> Selection:
        """As `Selections.resume`."""
        return await self._run(self._flows.change(selection_id, "resume"))

    async def retry(self, selection_id: str) -> Selection:
        """As `Selections.retry`."""
        return await self._run(self._flows.change(selection_id, "retry"))

    async def delete(self, selection_id: str) -> None:
        """As `Selections.delete`."""
        await self._run(self._flows.delete(path_of("selections", selection_id)))

    async def support_examples(self, selection_id: str, *, use: Use | None = None) -> SupportExamples:
        """As `Selections.support_examples`."""
        return await self._run(self._flows.support_examples(path_of("selections", selection_id), use))

    async def result(self, selection_id: str) -> dict[str, Any]:
        """As `Selections.result`."""
        return await self._run(self._flows.read_json(path_of("selections", selection_id, "result")))

    async def classifier(self, selection_id: str) -> dict[str, Any]:
        """As `Selections.classifier`."""
        return await self._run(self._flows.read_json(path_of("selections", selection_id, "classifier")))

    async def render(
        self,
        selection_id: str,
        inputs: str | List[str],
        *,
        prompts: PromptKind = "support_examples",
        use: Use | None = None,
    ) -> Rendered:
        """As `Selections.render`."""
        return await self._run(self._flows.render(path_of("selections", selection_id), inputs, prompts, use))

    async def export(self, selection_id: str, format: str = "json", *, use: Use | None = None) -> bytes:
        """As `Selections.export`."""
        return await self._run(
            self._flows.read_bytes(path_of("selections", selection_id, "export"), format=format, use=use)
        )

    async def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """As `Selections.suspicious_labels`."""
        return await self._run(self._flows.suspicious_labels(selection_id))


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

    async def support_examples(self, name: str, *, use: Use | None = None) -> SupportExamples:
        """As `Prompts.support_examples`."""
        return await self._run(self._flows.support_examples(path_of("prompts", name), use))

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

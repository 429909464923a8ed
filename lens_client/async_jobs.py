"""The jobs of the service, for callers with asyncio."""

from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

from lens_client.calls import Flow
from lens_client.flows import File, Flows, path_of
from lens_client.jobs import PromptKind, path_of_predictions, split_texts
from lens_client.models import (
    Evaluation,
    Event,
    Job,
    Prediction,
    Rendered,
    Selection,
    Status,
    SupportExamples,
    SuspiciousLabel,
    Use,
)

T = TypeVar("T")
J = TypeVar("J", bound=Job)


class AsyncRun(Protocol):
    """Runs a flow to its end."""

    async def __call__(self, flow: Flow[T], /) -> T: ...


class AsyncJobs(Generic[J]):
    """What jobs of every kind have."""

    _kind: type[J]
    _path: str

    def __init__(self, flows: Flows, run: AsyncRun) -> None:
        self._flows, self._run = flows, run

    async def get(self, job_id: str) -> J:
        """As `Jobs.get`."""
        return await self._run(self._flows.read_as(self._kind, path_of(self._path, job_id)))

    async def wait(
        self, job_id: str, *, on_change: Callable[[J], None] | None = None, timeout: float | None = None
    ) -> J:
        """As `Jobs.wait`."""
        return await self._run(self._flows.wait(self._kind, path_of(self._path, job_id), on_change, timeout))

    async def events(self, job_id: str) -> List[Event]:
        """As `Jobs.events`."""
        return await self._run(self._flows.read_pages(Event, path_of(self._path, job_id, "events")))

    async def cancel(self, job_id: str) -> J:
        """As `Jobs.cancel`."""
        return await self._run(self._flows.change(self._kind, path_of(self._path, job_id), "cancel"))

    async def resume(self, job_id: str) -> J:
        """As `Jobs.resume`."""
        return await self._run(self._flows.change(self._kind, path_of(self._path, job_id), "resume"))

    async def retry(self, job_id: str) -> J:
        """As `Jobs.retry`."""
        return await self._run(self._flows.change(self._kind, path_of(self._path, job_id), "retry"))

    async def delete(self, job_id: str) -> None:
        """As `Jobs.delete`."""
        await self._run(self._flows.delete(path_of(self._path, job_id)))


class AsyncSelections(AsyncJobs[Selection]):
    """Selections of the owner of the key."""

    _kind, _path = Selection, "selections"

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
        given = {"spec": dict(spec or {}), **parts}
        files = {"dataset": dataset, "test": test}
        return await self._run(self._flows.submit(Selection, "/selections", files, given, idempotency_key))

    async def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """As `Selections.list`."""
        return await self._run(self._flows.read_pages(Selection, "/selections", most, status=status))

    async def support_examples(
        self, selection_id: str, *, use: Use | None = None, input: str | None = None
    ) -> SupportExamples:
        """As `Selections.support_examples`."""
        return await self._run(self._flows.support_examples(path_of("selections", selection_id), use, input))

    async def result(self, selection_id: str, *, pool: bool = False) -> dict[str, Any]:
        """As `Selections.result`."""
        path = path_of("selections", selection_id, "result")
        return await self._run(self._flows.read_json(path, pool=True if pool else None))

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

    async def report(self, selection_id: str, format: str = "html") -> bytes:
        """As `Selections.report`."""
        return await self._run(self._flows.read_bytes(path_of("selections", selection_id, "report"), format=format))

    async def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """As `Selections.suspicious_labels`."""
        return await self._run(self._flows.suspicious_labels(selection_id))


class AsyncEvaluations(AsyncJobs[Evaluation]):
    """Evaluations of what selections found."""

    _kind, _path = Evaluation, "evaluations"

    async def submit(
        self,
        selection_id: str,
        dataset: File | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **parts: Any,
    ) -> Evaluation:
        """As `Evaluations.submit`."""
        path = path_of("selections", selection_id, "evaluations")
        given = {"spec": dict(spec or {}), **parts}
        return await self._run(self._flows.submit(Evaluation, path, {"dataset": dataset}, given, idempotency_key))

    async def list(
        self, *, source: str | None = None, status: Status | None = None, most: int | None = None
    ) -> List[Evaluation]:
        """As `Evaluations.list`."""
        return await self._run(self._flows.read_pages(Evaluation, "/evaluations", most, source=source, status=status))


class AsyncPredictions(AsyncJobs[Prediction]):
    """Predictions of files of texts."""

    _kind, _path = Prediction, "predictions"

    async def submit(
        self,
        texts: File | List[str],
        *,
        selection_id: str | None = None,
        prompt_name: str | None = None,
        idempotency_key: str | None = None,
        **parts: Any,
    ) -> Prediction:
        """As `Predictions.submit`."""
        path = path_of_predictions(selection_id, prompt_name)
        files, given = split_texts(texts, parts)
        return await self._run(self._flows.submit(Prediction, path, files, given, idempotency_key))

    async def list(
        self, *, source: str | None = None, status: Status | None = None, most: int | None = None
    ) -> List[Prediction]:
        """As `Predictions.list`."""
        return await self._run(self._flows.read_pages(Prediction, "/predictions", most, source=source, status=status))

    async def output(self, prediction_id: str, format: Literal["csv", "jsonl", "parquet"] = "csv") -> bytes:
        """As `Predictions.output`."""
        return await self._run(self._flows.read_bytes(path_of("predictions", prediction_id, "output"), format=format))

"""The resources of the service, for callers without asyncio."""

from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from lens_client.flows import File, Flow, Flows, path_of
from lens_client.models import PromptVersion, Rendered, Selection, Status, SupportExamples, SuspiciousLabel, Use

PromptKind = Literal["support_examples", "classifier"]
T = TypeVar("T")


class Run(Protocol):
    """Runs a flow to its end."""

    def __call__(self, flow: Flow[T], /) -> T: ...


class Selections:
    """Selections of the owner of the key."""

    def __init__(self, flows: Flows, run: Run) -> None:
        self._flows, self._run = flows, run

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
            spec: template, verbalizer, model, preset, options and name; see docs/api.md.
            idempotency_key: a repeat with the same key makes no second selection; drawn by default.
            parts: `text_column`, `label_column`, `delimiter` and `encoding` of files; or `examples`, `dataset_id` and
                their test rows.
        """
        return self._run(self._flows.submit(dataset, test, spec, parts, idempotency_key))

    def get(self, selection_id: str) -> Selection:
        """Read a selection."""
        return self._run(self._flows.read_as(Selection, path_of("selections", selection_id)))

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
        return self._run(self._flows.wait(selection_id, on_change, timeout))

    def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """Your selections, newest first, without their specs."""
        return self._run(self._flows.read_pages(Selection, "/selections", most, status=status))

    def cancel(self, selection_id: str) -> Selection:
        """Cancel a selection; its best so far is kept."""
        return self._run(self._flows.change(selection_id, "cancel"))

    def resume(self, selection_id: str) -> Selection:
        """Queue a cancelled selection again."""
        return self._run(self._flows.change(selection_id, "resume"))

    def retry(self, selection_id: str) -> Selection:
        """Queue a failed selection again."""
        return self._run(self._flows.change(selection_id, "retry"))

    def delete(self, selection_id: str) -> None:
        """Delete an ended selection."""
        self._run(self._flows.delete(path_of("selections", selection_id)))

    def support_examples(self, selection_id: str, *, use: Use | None = None) -> SupportExamples:
        """The support examples, in order."""
        return self._run(self._flows.support_examples(path_of("selections", selection_id), use))

    def result(self, selection_id: str) -> dict[str, Any]:
        """Everything that the run found."""
        return self._run(self._flows.read_json(path_of("selections", selection_id, "result")))

    def classifier(self, selection_id: str) -> dict[str, Any]:
        """The classifier, as a file that `lens classify` reads."""
        return self._run(self._flows.read_json(path_of("selections", selection_id, "classifier")))

    def render(
        self,
        selection_id: str,
        inputs: str | List[str],
        *,
        prompts: PromptKind = "support_examples",
        use: Use | None = None,
    ) -> Rendered:
        """The prompts for new inputs; `str` of the answer is the first."""
        return self._run(self._flows.render(path_of("selections", selection_id), inputs, prompts, use))

    def export(self, selection_id: str, format: str = "json", *, use: Use | None = None) -> bytes:
        """The support examples as a file that another tool loads."""
        return self._run(self._flows.read_bytes(path_of("selections", selection_id, "export"), format=format, use=use))

    def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """Rows whose label is probably wrong, the most suspicious first."""
        return self._run(self._flows.suspicious_labels(selection_id))


class Prompts:
    """Names that production reads."""

    def __init__(self, flows: Flows, run: Run) -> None:
        self._flows, self._run = flows, run

    def put(
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
            PreconditionFailed: somebody else changed the name meanwhile.
        """
        return self._run(
            self._flows.put(name, {"selection_id": selection_id, "version": version, "note": note}, if_version)
        )

    def get(self, name: str) -> PromptVersion:
        """Which version a name has."""
        return self._run(self._flows.read_as(PromptVersion, path_of("prompts", name)))

    def list(self, *, most: int | None = None) -> List[PromptVersion]:
        """Your names with their versions."""
        return self._run(self._flows.read_pages(PromptVersion, "/prompts", most))

    def versions(self, name: str, *, most: int | None = None) -> List[PromptVersion]:
        """The versions of a name, newest first."""
        return self._run(self._flows.read_pages(PromptVersion, path_of("prompts", name, "versions"), most))

    def delete(self, name: str, *, if_version: int) -> None:
        """Delete a name that has this version."""
        self._run(self._flows.delete(path_of("prompts", name), {"If-Match": f'"{if_version}"'}))

    def support_examples(self, name: str, *, use: Use | None = None) -> SupportExamples:
        """The support examples that a name says."""
        return self._run(self._flows.support_examples(path_of("prompts", name), use))

    def classifier(self, name: str) -> dict[str, Any]:
        """The classifier that a name says."""
        return self._run(self._flows.read_json(path_of("prompts", name, "classifier")))

    def render(
        self, name: str, inputs: str | List[str], *, prompts: PromptKind = "support_examples", use: Use | None = None
    ) -> Rendered:
        """The prompts of a name for new inputs; `str` of the answer is the first."""
        return self._run(self._flows.render(path_of("prompts", name), inputs, prompts, use))

    def export(self, name: str, format: str = "json", *, use: Use | None = None) -> bytes:
        """The support examples of a name as a file that another tool loads."""
        return self._run(self._flows.read_bytes(path_of("prompts", name, "export"), format=format, use=use))

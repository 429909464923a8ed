"""Names and datasets of the service, for callers without asyncio."""

from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Iterable
from typing import Any

from lens_client.flows import File, Flows, path_of
from lens_client.jobs import PromptKind, Run
from lens_client.models import (
    Dataset,
    PromptExample,
    PromptVersion,
    Rendered,
    SupportExamples,
    Use,
)


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

    def support_examples(self, name: str, *, use: Use | None = None, input: str | None = None) -> SupportExamples:
        """The support examples that a name says; with the demonstrations of `input`, a text, if it is given."""
        return self._run(self._flows.support_examples(path_of("prompts", name), use, input))

    def examples(self, name: str, *, most: int | None = None) -> List[PromptExample]:
        """The pool of a name: the labelled rows in which its prompts find the demonstrations of an input."""
        return self._run(self._flows.read_pages(PromptExample, path_of("prompts", name, "examples"), most))

    def add_examples(
        self,
        name: str,
        examples: Iterable[tuple[str, str]],
        *,
        note: str | None = None,
        if_version: int | None = None,
    ) -> PromptVersion:
        """Add rows to the pool of a name, all or none. The next prompt may show them.

        Args:
            examples: pairs of text and label, at most 200.
            if_version: the version that is changed; None for the one that the name has now.

        Raises:
            ContradictingExample: a row of the pool has the same text with another label; `errors` name it.
            NoPool: the prompts of this name show the same support examples for every input.
            PreconditionFailed: somebody else changed the name meanwhile.
        """
        return self._run(self._flows.add_examples(name, examples, note, if_version))

    def take_example_out(
        self, name: str, row: int, *, note: str | None = None, if_version: int | None = None
    ) -> PromptVersion:
        """Take a row out of the pool of a name; see `add_examples`."""
        return self._run(self._flows.take_example_out(name, row, note, if_version))

    def make_dataset(self, name: str) -> Dataset:
        """Store the pool of a name and its support examples as a dataset, from which a new selection can start."""
        return self._run(self._flows.make_dataset(name))

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


class Datasets:
    """Stored datasets of the owner of the key."""

    def __init__(self, flows: Flows, run: Run) -> None:
        self._flows, self._run = flows, run

    def store(self, dataset: File | None = None, **parts: Any) -> Dataset:
        """Store a file, or `examples`; equal rows are stored once. `parts`: as of `Selections.submit`."""
        return self._run(self._flows.submit(Dataset, "/datasets", {"dataset": dataset}, parts))

    def get(self, dataset_id: str) -> Dataset:
        """What is known of a dataset."""
        return self._run(self._flows.read_as(Dataset, path_of("datasets", dataset_id)))

    def list(self, *, most: int | None = None) -> List[Dataset]:
        """Your datasets, newest first."""
        return self._run(self._flows.read_pages(Dataset, "/datasets", most))

    def report(self, dataset_id: str) -> dict[str, Any]:
        """What is in a dataset: labels, duplicates, conflicting labels, near-duplicates, lengths."""
        return self._run(self._flows.read_json(path_of("datasets", dataset_id, "report")))

    def delete(self, dataset_id: str) -> None:
        """Delete a dataset that no job uses."""
        self._run(self._flows.delete(path_of("datasets", dataset_id)))

"""The jobs of the service, for callers without asyncio."""

from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

from lens_client.calls import Flow
from lens_client.flows import File, Flows, path_of
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

PromptKind = Literal["support_examples", "classifier"]
T = TypeVar("T")
J = TypeVar("J", bound=Job)


class Run(Protocol):
    """Runs a flow to its end."""

    def __call__(self, flow: Flow[T], /) -> T: ...


def path_of_predictions(selection_id: str | None, prompt_name: str | None) -> str:
    """
    Raises:
        TypeError: not exactly one of both is given.
    """
    if (selection_id is None) == (prompt_name is None):
        raise TypeError("give either selection_id or prompt_name")
    where = ("selections", selection_id) if selection_id is not None else ("prompts", prompt_name or "")
    return path_of(*where, "predictions")


def split_texts(
    texts: File | List[str], parts: Mapping[str, Any]
) -> tuple[Mapping[str, File | None], Mapping[str, Any]]:
    """The files and the other parts of a submission of texts."""
    return ({}, {**parts, "texts": texts}) if isinstance(texts, list) else ({"texts": texts}, parts)


class Jobs(Generic[J]):
    """What jobs of every kind have."""

    _kind: type[J]
    _path: str

    def __init__(self, flows: Flows, run: Run) -> None:
        self._flows, self._run = flows, run

    def get(self, job_id: str) -> J:
        """Read a job."""
        return self._run(self._flows.read_as(self._kind, path_of(self._path, job_id)))

    def wait(self, job_id: str, *, on_change: Callable[[J], None] | None = None, timeout: float | None = None) -> J:
        """Poll until the job has succeeded, as often as the service asks for.

        Args:
            on_change: gets the job at each poll.
            timeout: seconds; None for no limit.

        Raises:
            NotSucceeded: it failed or was cancelled.
            TimedOut: it has not ended within `timeout`.
        """
        return self._run(self._flows.wait(self._kind, path_of(self._path, job_id), on_change, timeout))

    def events(self, job_id: str) -> List[Event]:
        """The history of a job, oldest first."""
        return self._run(self._flows.read_pages(Event, path_of(self._path, job_id, "events")))

    def cancel(self, job_id: str) -> J:
        """Cancel a job; what it has so far is kept."""
        return self._run(self._flows.change(self._kind, path_of(self._path, job_id), "cancel"))

    def resume(self, job_id: str) -> J:
        """Queue a cancelled job again."""
        return self._run(self._flows.change(self._kind, path_of(self._path, job_id), "resume"))

    def retry(self, job_id: str) -> J:
        """Queue a failed job again."""
        return self._run(self._flows.change(self._kind, path_of(self._path, job_id), "retry"))

    def delete(self, job_id: str) -> None:
        """Delete an ended job."""
        self._run(self._flows.delete(path_of(self._path, job_id)))


class Selections(Jobs[Selection]):
    """Selections of the owner of the key."""

    _kind, _path = Selection, "selections"

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
        return self._run(self._flows.submit(Selection, "/selections", files, given, idempotency_key))

    def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """Your selections, newest first, without their specs."""
        return self._run(self._flows.read_pages(Selection, "/selections", most, status=status))

    def support_examples(
        self, selection_id: str, *, use: Use | None = None, input: str | None = None
    ) -> SupportExamples:
        """The support examples, in order, also while the selection runs; with the demonstrations of `input`, a text."""
        return self._run(self._flows.support_examples(path_of("selections", selection_id), use, input))

    def result(self, selection_id: str, *, pool: bool = False) -> dict[str, Any]:
        """Everything that the run found. `pool`: with the rows in which prompts find demonstrations, up to 20,000."""
        path = path_of("selections", selection_id, "result")
        return self._run(self._flows.read_json(path, pool=True if pool else None))

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

    def report(self, selection_id: str, format: str = "html") -> bytes:
        """A report for people, as html or markdown."""
        return self._run(self._flows.read_bytes(path_of("selections", selection_id, "report"), format=format))

    def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """Rows whose label is probably wrong, the most suspicious first."""
        return self._run(self._flows.suspicious_labels(selection_id))


class Evaluations(Jobs[Evaluation]):
    """Evaluations of what selections found."""

    _kind, _path = Evaluation, "evaluations"

    def submit(
        self,
        selection_id: str,
        dataset: File | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **parts: Any,
    ) -> Evaluation:
        """Judge what a selection found: on a file, on `examples` or a `dataset_id`, or on its own test rows.

        Args:
            dataset: path or content of a CSV or JSONL file.
            spec: prompts, use, fixed, model, form, orders, num_prompts and name; see docs/api.md.
            idempotency_key: a repeat with the same key makes no second evaluation; drawn by default.
            parts: as of `Selections.submit`.
        """
        path = path_of("selections", selection_id, "evaluations")
        given = {"spec": dict(spec or {}), **parts}
        return self._run(self._flows.submit(Evaluation, path, {"dataset": dataset}, given, idempotency_key))

    def list(
        self, *, source: str | None = None, status: Status | None = None, most: int | None = None
    ) -> List[Evaluation]:
        """Your evaluations, newest first; `source`: of this selection or name alone."""
        return self._run(self._flows.read_pages(Evaluation, "/evaluations", most, source=source, status=status))


class Predictions(Jobs[Prediction]):
    """Predictions of files of texts."""

    _kind, _path = Prediction, "predictions"

    def submit(
        self,
        texts: File | List[str],
        *,
        selection_id: str | None = None,
        prompt_name: str | None = None,
        idempotency_key: str | None = None,
        **parts: Any,
    ) -> Prediction:
        """Classify texts with the classifier or the prompt of a selection or of a name; give one of both.

        Args:
            texts: path or content of a CSV or JSONL file, or a list of texts.
            idempotency_key: a repeat with the same key makes no second prediction; drawn by default.
            parts: `spec` (prompts, use and fixed; see docs/api.md), and `text_column`, `delimiter` and `encoding` of a
                file.
        """
        path = path_of_predictions(selection_id, prompt_name)
        files, given = split_texts(texts, parts)
        return self._run(self._flows.submit(Prediction, path, files, given, idempotency_key))

    def list(
        self, *, source: str | None = None, status: Status | None = None, most: int | None = None
    ) -> List[Prediction]:
        """Your predictions, newest first; `source`: of this selection or name alone."""
        return self._run(self._flows.read_pages(Prediction, "/predictions", most, source=source, status=status))

    def output(self, prediction_id: str, format: Literal["csv", "jsonl", "parquet"] = "csv") -> bytes:
        """The columns of the input with label and probabilities."""
        return self._run(self._flows.read_bytes(path_of("predictions", prediction_id, "output"), format=format))

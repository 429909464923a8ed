# Made from lens_client/async_jobs.py by `python .ci/blocking_client.py`: change that file, and run the command.
"""The jobs of the service."""

import time
from builtins import list as List  # noqa: N812 - a method is called `list`
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Generic, Literal, TypeVar

from lens_client.calls import File, path_of, path_of_predictions, read_retry_after
from lens_client.connection import Connection
from lens_client.errors import NotSucceeded, TimedOut
from lens_client.models import (
    Evaluation,
    Event,
    Job,
    Prediction,
    PromptKind,
    Rendered,
    Selection,
    Status,
    SupportExamples,
    SuspiciousLabel,
    Use,
)

J = TypeVar("J", bound=Job)

_POLL_SECONDS = 2.0
"""Between two looks at a job, where the service names no time."""


class Jobs(Generic[J]):
    """What jobs of every kind have."""

    _kind: type[J]
    _path: str

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, job_id: str) -> J:
        """Read a job."""
        return self._connection.read_as(self._kind, path_of(self._path, job_id))

    def wait(self, job_id: str, *, on_change: Callable[[J], None] | None = None, timeout: float | None = None) -> J:
        """Poll until the job has succeeded, as often as the service asks for.

        Args:
            on_change: gets the job at each poll.
            timeout: seconds; None for no limit.

        Raises:
            NotSucceeded: it failed or was cancelled.
            TimedOut: it has not ended within `timeout`.
        """
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            answer = self._connection.read(path_of(self._path, job_id))
            job = self._kind.model_validate_json(answer.content)
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

    def events(self, job_id: str) -> List[Event]:
        """The history of a job, oldest first."""
        return self._connection.read_pages(Event, path_of(self._path, job_id, "events"))

    def cancel(self, job_id: str) -> J:
        """Cancel a job; what it has so far is kept."""
        return self._connection.ask_as(self._kind, "POST", path_of(self._path, job_id, "cancel"))

    def resume(self, job_id: str) -> J:
        """Queue a cancelled job again."""
        return self._connection.ask_as(self._kind, "POST", path_of(self._path, job_id, "resume"))

    def retry(self, job_id: str) -> J:
        """Queue a failed job again."""
        path = path_of(self._path, job_id, "retry")
        return self._connection.ask_as(self._kind, "POST", path, is_repeatable=False)

    def delete(self, job_id: str) -> None:
        """Delete an ended job."""
        self._connection.ask("DELETE", path_of(self._path, job_id))


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
        return self._connection.submit(Selection, "/selections", files, given, idempotency_key)

    def list(self, *, status: Status | None = None, most: int | None = None) -> List[Selection]:
        """Your selections, newest first, without their specs."""
        return self._connection.read_pages(Selection, "/selections", most, status=status)

    def support_examples(
        self, selection_id: str, *, use: Use | None = None, input: str | None = None
    ) -> SupportExamples:
        """The support examples, in order, also while the selection runs; with the demonstrations of `input`, a text."""
        return self._connection.support_examples(path_of("selections", selection_id), use, input)

    def result(self, selection_id: str, *, pool: bool = False) -> dict[str, Any]:
        """Everything that the run found. `pool`: with the rows in which prompts find demonstrations, up to 20,000."""
        path = path_of("selections", selection_id, "result")
        return self._connection.read_json(path, pool=True if pool else None)

    def classifier(self, selection_id: str) -> dict[str, Any]:
        """The classifier, as a file that `lens classify` reads."""
        return self._connection.read_json(path_of("selections", selection_id, "classifier"))

    def render(
        self,
        selection_id: str,
        inputs: str | List[str],
        *,
        prompts: PromptKind = "support_examples",
        use: Use | None = None,
    ) -> Rendered:
        """The prompts for new inputs; `str` of the answer is the first."""
        return self._connection.render(path_of("selections", selection_id), inputs, prompts, use)

    def export(self, selection_id: str, format: str = "json", *, use: Use | None = None) -> bytes:
        """The support examples as a file that another tool loads."""
        return self._connection.read_bytes(path_of("selections", selection_id, "export"), format=format, use=use)

    def report(self, selection_id: str, format: str = "html") -> bytes:
        """A report for people, as html or markdown."""
        return self._connection.read_bytes(path_of("selections", selection_id, "report"), format=format)

    def suspicious_labels(self, selection_id: str) -> List[SuspiciousLabel]:
        """Rows whose label is probably wrong, the most suspicious first."""
        shown = self._connection.read_json(path_of("selections", selection_id, "suspicious-labels"))
        return [SuspiciousLabel.model_validate(item) for item in shown["items"]]


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
        return self._connection.submit(Evaluation, path, {"dataset": dataset}, given, idempotency_key)

    def list(
        self, *, source: str | None = None, status: Status | None = None, most: int | None = None
    ) -> List[Evaluation]:
        """Your evaluations, newest first; `source`: of this selection or name alone."""
        return self._connection.read_pages(Evaluation, "/evaluations", most, source=source, status=status)


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
        files, given = ({}, {**parts, "texts": texts}) if isinstance(texts, List) else ({"texts": texts}, parts)
        return self._connection.submit(Prediction, path, files, given, idempotency_key)

    def list(
        self, *, source: str | None = None, status: Status | None = None, most: int | None = None
    ) -> List[Prediction]:
        """Your predictions, newest first; `source`: of this selection or name alone."""
        return self._connection.read_pages(Prediction, "/predictions", most, source=source, status=status)

    def output(self, prediction_id: str, format: Literal["csv", "jsonl", "parquet"] = "csv") -> bytes:
        """The columns of the input with label and probabilities."""
        return self._connection.read_bytes(path_of("predictions", prediction_id, "output"), format=format)

"""The service as a client sees it: HTTP and nothing else."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import httpx
from pydantic import TypeAdapter

from lens_cli.refusals import Refusal
from lens_engine.classifier.classifier import Classifier
from lens_engine.metering.progress import Progress
from lens_engine.result import SelectionResult

_TIMEOUT_SECONDS = 30.0
_PROGRESS = TypeAdapter(Progress)


class SelectionClient:
    """Submits a dataset, waits, and reads the result."""

    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._client = httpx.Client(base_url=url, timeout=_TIMEOUT_SECONDS, transport=transport, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def submit(self, train: Path, test: Path, spec: Mapping[str, Any]) -> str:
        """POST both files and the spec as a form; the new selection's id.

        Raises:
            Refusal: the service said no.
        """
        with train.open("rb") as dataset, test.open("rb") as test_rows:
            files = {"dataset": (train.name, dataset), "test": (test.name, test_rows)}
            answer = self._client.post("/selections", files=files, data={"spec": json.dumps(spec)})
        return str(_read(answer)["id"])

    def wait(self, selection_id: str, on_progress: Callable[[Progress], None], check: Callable[[], None]) -> None:
        """Poll as often as the service asks for until the selection has ended; `check` runs before each poll.

        Raises:
            Refusal: it failed, or was cancelled.
        """
        while True:
            check()
            answer = self._client.get(f"/selections/{selection_id}")
            selection = _read(answer)
            if selection["progress"] is not None:
                on_progress(_PROGRESS.validate_python(selection["progress"]))
            status = selection["status"]
            if status == "succeeded":
                return
            if status in ("cancelled", "failed"):
                reason = (selection["error"] or {}).get("detail", "no reason given")
                raise Refusal(f"the selection ended as {status}: {reason}")
            time.sleep(float(answer.headers.get("Retry-After", "1")))

    def read_result(self, selection_id: str) -> SelectionResult:
        body = _read(self._client.get(f"/selections/{selection_id}/result"))
        return SelectionResult.model_validate({name: value for name, value in body.items() if name != "selection_id"})

    def read_classifier(self, selection_id: str) -> Classifier:
        """The classifier that production uses."""
        return Classifier.model_validate(_read(self._client.get(f"/selections/{selection_id}/classifier")))

    def render(self, selection_id: str, text: str) -> tuple[str, str]:
        """The prompt to send to the model for a new input, and how often such a prompt is right."""
        rendered = _read(self._client.post(f"/selections/{selection_id}/render", json={"input": text}))
        return str(rendered["prompts"][0]["prompt"]), str(rendered["reason"])


def _read(answer: httpx.Response) -> dict[str, Any]:
    """The body; a problem (RFC 9457) becomes a refusal."""
    if answer.is_success:
        return dict(answer.json())
    if answer.headers.get("Content-Type", "").startswith("application/problem+json"):
        problem = answer.json()
        details = tuple(f"{item.get('pointer', '')}: {item.get('detail', '')}" for item in problem.get("errors", []))
        raise Refusal(f"{problem['title']}: {problem.get('detail', '')}", details=details)
    raise Refusal(f"the service answered {answer.status_code} {answer.reason_phrase}")

"""What is submitted: small selections, and large datasets in both forms; and results without a model."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.lifecycle import claims, endings
from app.selections.submission_schemas import EXAMPLE_SPEC, EXAMPLE_SUBMISSION
from lab.benchmarks.load.client import write_request
from lab.benchmarks.load.servers import Servers
from lens_engine import Problem, resolve_config, select_support_examples
from lens_engine.testing import TableScorer

_BOUNDARY = "edge"
_LEASE_SECONDS = 60.0
_OPTIONS = {
    "comparisons": "none",
    "classifier": {"kind": "none"},
    "splits": {"validation": 8, "confirmation": 0, "test": 8},
    "filtering": {"candidates": 16, "keep": 8, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
}
_numbers = itertools.count()


def small_submission() -> bytes:
    """Forty rows as JSON, with an Idempotency-Key of its own."""
    body = json.dumps(EXAMPLE_SUBMISSION).encode()
    return write_request("POST", "/selections", body, Idempotency_Key=f"load-{next(_numbers)}")


def large_form(num_bytes: int) -> bytes:
    """A form whose dataset is a CSV file of about this size."""
    dataset = "\n".join(["text,label", *(f"{text},{label}" for text, label in _rows(num_bytes))])
    body = "".join(
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n{content}\r\n'
        for name, content in (("dataset", dataset), ("spec", json.dumps(EXAMPLE_SPEC)))
    )
    closed = f"{body}--{_BOUNDARY}--\r\n".encode()
    return write_request("POST", "/selections", closed, Content_Type=f"multipart/form-data; boundary={_BOUNDARY}")


def large_json(num_bytes: int) -> bytes:
    """A JSON body of somewhat less than this size."""
    examples = [{"text": text, "label": label} for text, label in _rows(num_bytes - num_bytes // 5)]
    return write_request("POST", "/selections", json.dumps({"spec": EXAMPLE_SPEC, "examples": examples}).encode())


def _rows(num_bytes: int) -> Iterator[tuple[str, str]]:
    """Texts and labels of about this size together."""
    labels = itertools.cycle(("positive", "negative"))
    texts = (f"review {number} of a film " + "that goes on and on " * 8 for number in itertools.count())
    while num_bytes > 0:
        text, label = next(texts), next(labels)
        num_bytes -= len(text) + len(label) + 2
        yield text, label


def finish_selection(servers: Servers, selection_id: str, problem: Problem, options: Mapping[str, Any]) -> list[int]:
    """Give a queued selection the result of a small run without a model; returns the rows of its support examples."""
    config = resolve_config("quick", {**_OPTIONS, **options})
    result = select_support_examples(problem, TableScorer(), config, progress=False)
    with servers.database.session_scope() as session:
        claim = claims.claim_job(session, selection_id, _LEASE_SECONDS)
        if claim is None or not endings.finish(session, claim, result):
            raise RuntimeError(f"{selection_id} could not be finished")
    return list(result.rows)

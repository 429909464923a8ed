"""What is submitted: a small selection, and large datasets in both forms."""

import itertools
import json
from collections.abc import Iterator

from app.selections.openapi import EXAMPLE_SPEC, EXAMPLE_SUBMISSION
from lab.benchmarks.load.client import write_request

_BOUNDARY = "edge"
_numbers = itertools.count()


def small_submission() -> bytes:
    """Forty rows as JSON, with an Idempotency-Key of its own."""
    body = json.dumps(EXAMPLE_SUBMISSION).encode()
    key = f"load-{next(_numbers)}"
    return write_request("POST", "/selections", body, Content_Type="application/json", Idempotency_Key=key)


def large_form(num_bytes: int) -> bytes:
    """A form whose dataset is a CSV file of this size."""
    lines = ["text,label"]
    size = 0
    for text, label in _rows():
        lines.append(f"{text},{label}")
        size += len(lines[-1]) + 1
        if size >= num_bytes:
            break
    parts = (("dataset", "\n".join(lines)), ("spec", json.dumps(EXAMPLE_SPEC)))
    body = "".join(
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n{content}\r\n'
        for name, content in parts
    )
    closed = f"{body}--{_BOUNDARY}--\r\n".encode()
    return write_request("POST", "/selections", closed, Content_Type=f"multipart/form-data; boundary={_BOUNDARY}")


def large_json(num_bytes: int) -> bytes:
    """A JSON body of somewhat less than this size."""
    examples, size = [], 10_000
    for text, label in _rows():
        examples.append({"text": text, "label": label})
        size += len(text) + len(label) + 28
        if size >= num_bytes:
            break
    body = json.dumps({"spec": EXAMPLE_SPEC, "examples": examples}).encode()
    return write_request("POST", "/selections", body[:num_bytes], Content_Type="application/json")


def _rows() -> Iterator[tuple[str, str]]:
    for number in itertools.count():
        label = ("positive", "negative")[number % 2]
        yield f"review {number} of a film " + "that goes on and on " * 8, label

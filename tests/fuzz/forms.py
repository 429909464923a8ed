"""Forms with files, and requests for methods and paths that the document does not have."""

import json
import random
from typing import Any

from tests.fuzz.files import draw_file
from tests.fuzz.requester import Requester
from tests.fuzz.service import OWNERS
from tests.integration.samples import make_csv, make_spec

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
_PATHS = (
    *("/", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz", "/models", "/selections", "/selections/"),
    *("/selections/{id}", "/selections/{id}/", "/selections/{id}/events", "/selections/{id}/classifier"),
    *("/selections/{id}/cancel", "/selections/{id}/render", "/selections/%00", "/selections/..%2f..%2fetc", "//"),
    *("/docs/assets/../../../etc/passwd", "/docs/assets/%2e%2e/x", "/selections/%ff%fe", "/%", "/selections?limit=%"),
)
_TYPES = ("text/csv", "application/octet-stream", "application/json", "x", "multipart/form-data", "")


def send_form(requester: Requester, draw: random.Random) -> None:
    """A form with a drawn file as the dataset, or as the test rows beside a good dataset."""
    name, content = draw_file(draw)
    parts: list[tuple[str, Any]] = [("dataset", (name, content, draw.choice(_TYPES)))]
    if draw.random() < 0.3:
        parts = [("dataset", ("rows.csv", make_csv())), ("test", (name, content))]
    data = {"spec": json.dumps(make_spec())}
    if draw.random() < 0.1:
        data[draw.choice(("text_column", "label_column"))] = draw.choice(("text", "label", "x", "", "\u0000"))
    headers = {"Idempotency-Key": draw.choice(("a", "b", "", "\u00e4", "x" * 256))} if draw.random() < 0.1 else {}
    arguments = {
        "method": "POST",
        "url": f"{requester.population.service.address}/selections",
        "files": parts,
        "data": data,
        "headers": headers,
    }
    requester.send("POST /selections (file)", draw.choice(OWNERS), arguments)


def send_elsewhere(requester: Requester, draw: random.Random) -> None:
    """Any method on any path."""
    method = draw.choice(_METHODS)
    path = draw.choice(_PATHS).replace("{id}", requester.population.draw_id(draw))
    arguments = {
        "method": method,
        "url": requester.population.service.address + path,
        "data": draw.choice((b"", b"{}", b"\x00", b"[" * 1000)),
        "headers": {"Content-Type": draw.choice(_TYPES), "X-Request-ID": draw.choice(("a", "\u00e4", " ", "x" * 80))},
    }
    requester.send("any method, any path", draw.choice((*OWNERS, None)), arguments)

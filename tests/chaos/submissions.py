"""What the clients submit: a few different selections, so that each has a known digest."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.stack import OPTIONS

TABLE_MODEL, BUNDLED = "table", "bundled"
_ROWS = 80
_PADDING = 16_000
"""Characters of a text of a large submission, which is spooled to disk because it has more than one MiB."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One task with its data. Its selections have the same digest, whoever submits them and whatever happens."""

    number: int
    model: str = TABLE_MODEL

    def __str__(self) -> str:
        return f"{self.model}-{self.number}"

    @property
    def is_large(self) -> bool:
        return self.number % 6 == 1

    def post(self, client: httpx.Client, key: str) -> httpx.Response:
        """POST it, named after its idempotency key: inline, or as a file if it is large."""
        headers = {"Idempotency-Key": key}
        options = {**OPTIONS, "seed": self.number}
        spec: dict[str, Any] = {
            "name": key,
            "template": "{text} It was {label}.",
            "verbalizer": {"good": "great", "bad": "terrible"},
            "preset": "quick",
            "options": options,
            "model": self.model,
        }
        if not self.is_large:
            return client.post("/selections", json={"spec": spec, "examples": self._rows()}, headers=headers)
        content = "\n".join(json.dumps(row) for row in self._rows()).encode()
        files = {"dataset": ("rows.jsonl", content, "application/jsonl")}
        return client.post("/selections", files=files, data={"spec": json.dumps(spec)}, headers=headers)

    def _rows(self) -> list[dict[str, str]]:
        padding = f" {'x' * _PADDING}" if self.is_large else ""
        kinds = (("grief", "bad"), ("joy", "good"))
        return [
            {"text": f"message {row} of {self.number} about {feeling}{padding}", "label": label}
            for row in range(_ROWS)
            for feeling, label in [kinds[row % 2]]
        ]

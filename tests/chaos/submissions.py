"""What the clients submit: a few different selections, so that each has a known undisturbed digest."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.stack import OPTIONS

NUM_VARIANTS = 12
NUM_LARGE = 2
TABLE_MODEL, BUNDLED = "table", "bundled"
_ROWS = 80
_PADDING = 16_000
"""Characters of a text of a large submission, which is spooled to disk because it has more than one MiB."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One task with its data. Its selections have the same digest, whoever submits them and whatever happens."""

    number: int
    model: str = TABLE_MODEL
    is_large: bool = False

    def post(self, client: httpx.Client, key: str) -> httpx.Response:
        """POST it, named after its idempotency key: inline, or as a file if it is large."""
        headers = {"Idempotency-Key": key}
        if self.is_large:
            files = {"dataset": ("rows.jsonl", self._file(), "application/jsonl")}
            return client.post("/selections", files=files, data={"spec": json.dumps(self._spec(key))}, headers=headers)
        body = {"spec": self._spec(key), "examples": self._rows()}
        return client.post("/selections", json=body, headers=headers)

    def _spec(self, key: str) -> dict[str, Any]:
        return {
            "name": key,
            "template": "{text} It was {label}.",
            "verbalizer": {"good": "great", "bad": "terrible"},
            "preset": "quick",
            "options": {**OPTIONS, "seed": self.number},
            "model": self.model,
        }

    def _rows(self) -> list[dict[str, str]]:
        padding = f" {'x' * _PADDING}" if self.is_large else ""
        return [
            {"text": f"message {row} of {self.number} about {'joy' if row % 2 else 'grief'}{padding}", "label": label}
            for row in range(_ROWS)
            for label in ("good" if row % 2 else "bad",)
        ]

    def _file(self) -> bytes:
        return "\n".join(json.dumps(row) for row in self._rows()).encode()


VARIANTS = tuple(Variant(number, is_large=number >= NUM_VARIANTS - NUM_LARGE) for number in range(NUM_VARIANTS))
MODEL_VARIANTS = tuple(Variant(number, BUNDLED) for number in range(1))

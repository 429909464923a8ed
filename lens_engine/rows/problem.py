"""A problem: a task and its labelled examples."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lens_engine.task.template import Task
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Problem:
    """A task and its labelled examples.

    If `test` is None, the selection holds test rows out of `examples`.
    """

    task: Task
    examples: Sequence[Example]
    test: Sequence[Example] | None = None


def digest_examples(examples: Iterable[Example]) -> str:
    """SHA-256 of the (text, label) rows in order. Equal rows have equal digests, whatever the file format."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(example_bytes(example))
    return digest.hexdigest()


def example_bytes(example: Example) -> bytes:
    """One row as `digest_examples` hashes it."""
    return json.dumps([example.text, example.label], ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

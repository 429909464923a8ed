"""A problem to solve: a task and its labelled examples."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lens_engine.task.template import Task
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be solved: a task and its labelled examples.

    `test` is None when test rows are to be held out of `examples`.
    """

    task: Task
    examples: Sequence[Example]
    test: Sequence[Example] | None = None


def digest_examples(examples: Iterable[Example]) -> str:
    """SHA-256 of the (text, label) rows in order; the same for the same rows in any file format."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(example_bytes(example))
    return digest.hexdigest()


def example_bytes(example: Example) -> bytes:
    """The bytes of one row that `digest_examples` digests."""
    return json.dumps([example.text, example.label], ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

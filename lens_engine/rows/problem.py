"""A problem: a task and its labelled examples."""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

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

    def without_labels(self, labels: Collection[str]) -> "Problem":
        """The problem without the rows of these labels; its task stays the same."""
        examples, test = ([one for one in rows if one.label not in labels] for rows in (self.examples, self.test or ()))
        return replace(self, examples=examples, test=None if self.test is None else test)


def digest_examples(examples: Iterable[Example]) -> str:
    """SHA-256 of the (text, label) rows in order. Equal rows have equal digests, whatever the file format."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(example_bytes(example))
    return digest.hexdigest()


def example_bytes(example: Example) -> bytes:
    """One row as `digest_examples` hashes it."""
    return json.dumps([example.text, example.label], ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

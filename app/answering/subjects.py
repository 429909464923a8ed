"""What is asked: a classifier, under the SHA-256 of its JSON."""

import hashlib
import sys
from dataclasses import dataclass, field
from typing import Self

from lens_engine.classifier.classifier import Classifier
from lens_engine.retrieval.pool import Pool

_ROW_BYTES = 700
"""What the objects of a row of a pool take besides its text, measured."""

_PARSED = 4
"""What a classifier takes without its pool, in sizes of its JSON: text, numbers as objects and as arrays."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A classifier that is asked. Equal classifiers are one subject."""

    digest: str  #: SHA-256 of `content` (hex)
    content: bytes = field(repr=False, compare=False)  #: the classifier as JSON
    classifier: Classifier = field(repr=False, compare=False)

    @classmethod
    def of(cls, classifier: Classifier) -> Self:
        content = classifier.model_dump_json().encode()
        return cls(hashlib.sha256(content).hexdigest(), content, classifier)

    @classmethod
    def read(cls, content: bytes) -> Self:
        """The subject of a classifier's JSON, with the index of its pool."""
        classifier = Classifier.model_validate_json(content)
        if classifier.retrieval is not None:
            _ = classifier.retrieval.index
        return cls(hashlib.sha256(content).hexdigest(), content, classifier)


def weigh_subject(subject: Subject) -> int:
    """Memory that a subject takes (bytes), estimated. An index counts once it is made."""
    retrieval = subject.classifier.retrieval
    pool_bytes = weigh_pool(retrieval.pool) if retrieval is not None and retrieval.pool.indexes else 0
    return _PARSED * len(subject.content) + pool_bytes


def weigh_pool(pool: Pool) -> int:
    """Memory that a pool takes with its indexes; that of its words is made if it has none (bytes), estimated."""
    texts = sum(sys.getsizeof(row.text) for row in pool.rows)
    return texts + _ROW_BYTES * len(pool.examples) + sum(one.num_bytes for one in pool.indexes.values() or [pool.index])

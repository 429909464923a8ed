"""A double whose model is a hash, and scorers that ask it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.scorer import EndpointScorer, open_endpoint
from tests.endpoints.double import MODEL, Double, HashBehind, serving

Connect = Callable[..., EndpointScorer]


@pytest.fixture
def double() -> Iterator[Double]:
    with serving(Double(HashBehind())) as started:
        yield started


@pytest.fixture
def connect(double: Double, tmp_path: Path) -> Iterator[Connect]:
    """Open a scorer of the double; `remembers=False` keeps no answers, other arguments are those of `Endpoint`."""
    with ExitStack() as exits:

        def open_one(*, remembers: bool = True, **options: object) -> EndpointScorer:
            endpoint = Endpoint(**{"kind": "vllm", "url": double.url, "model": MODEL} | options)  # type: ignore[arg-type]
            scorer = open_endpoint(endpoint, cache_dir=tmp_path, answer_bytes=1 << 22 if remembers else None)
            exits.callback(scorer.close)
            return scorer

        yield open_one

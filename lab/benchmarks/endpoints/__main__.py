"""Pairs a second through a server, beside its own rate and the model here: python -m lab.benchmarks.endpoints URL"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from lab.benchmarks.endpoints.bare import Request, salt, send_all
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.open_model import open_model
from lens_engine.scoring.base import Block, score_blocks
from lens_engine.scoring.cache.scorer import find_computing
from lens_engine.servers.address import Endpoint
from lens_engine.servers.open_endpoint import open_endpoint
from lens_engine.servers.scorer import EndpointScorer
from lens_engine.servers.transport import Transport
from lens_engine.types import LabelLogProbs

_TEXTS = ("the parcel came late", "my card was charged twice", "the app does not open", "I forgot my password")
_WORDS = (" delivery", " billing", " technical trouble", " account")
_DEMONSTRATIONS = 24
_LABELS = (" delivery", " billing", " technical trouble", " account")


def make_blocks(prefixes: int, queries: int) -> list[Block]:
    """Blocks of one prefix of some 280 tokens each."""
    return [
        Block(
            (tuple(_demonstration(number, place) for place in range(_DEMONSTRATIONS)),),
            tuple(f"Message: {_TEXTS[one % 4]}, case {one}\nTopic:" for one in range(queries)),
        )
        for number in range(prefixes)
    ]


def _demonstration(number: int, place: int) -> str:
    return f"Message: {_TEXTS[(number + place) % 4]}\nTopic:{_WORDS[(number + place) % 4]}\n"


@contextmanager
def recording(requests: list[Request]) -> Iterator[None]:
    """A context in which each request that a transport sends is kept."""
    post = Transport.post

    async def keep(self: Transport, path: str, body: Mapping[str, Any], **options: Any) -> Any:
        requests.append(Request(path, dict(body)))
        return await post(self, path, body, **options)

    Transport.post = keep  # type: ignore[method-assign]
    try:
        yield
    finally:
        Transport.post = post  # type: ignore[method-assign]


def measure(given: argparse.Namespace) -> None:
    """Print pairs a second and agreement."""
    blocks = make_blocks(given.prefixes, given.queries)
    pairs = given.prefixes * given.queries
    for at_once in given.at_once:
        endpoint = Endpoint(given.kind, given.url, given.model, most_requests=at_once)
        scorer = open_endpoint(endpoint, tokenizer=given.tokenizer, answer_bytes=None)
        try:
            found = _measure_once(scorer, blocks, pairs, at_once, given.url)
        finally:
            scorer.close()
    if given.local:
        _compare(blocks, pairs, found, given.local)


def _measure_once(
    scorer: EndpointScorer, blocks: list[Block], pairs: int, at_once: int, url: str
) -> list[LabelLogProbs]:
    requests: list[Request] = []
    spending = scorer.spending
    before = (spending.requests, spending.tokens, spending.cached_tokens)
    began, computed = time.monotonic(), time.process_time()
    with recording(requests):
        found = list(scorer.score_blocks(blocks, _LABELS))
    seconds, computed = time.monotonic() - began, time.process_time() - computed
    bare = min(send_all(url, salt(requests, token, 3), at_once) for token in (260, 261))
    fed, cached = spending.tokens - before[1], spending.cached_tokens - before[2]
    least = sum(
        sum(scorer.count_tokens(block.prefixes[0])) + sum(scorer.count_tokens(block.queries)) for block in blocks
    )
    _say(
        f"{at_once:3} requests at once: {pairs / seconds:6.1f} pairs/s, without Lens {pairs / bare:6.1f}, "
        f"ratio {bare / seconds:.2f}; client {1000 * computed / pairs:.2f} CPU ms a pair; "
        f"{spending.requests - before[0]} requests, {fed:,} prompt tokens, of which it had {cached:,}; least {least:,}"
    )
    return found


def _compare(blocks: list[Block], pairs: int, found: list[LabelLogProbs], reference: str) -> None:
    local = find_computing(open_model(reference, dtype="float32", pair_cache_bytes=None).scorer)
    began = time.monotonic()
    scores = list(score_blocks(local, blocks, _LABELS))
    seconds = time.monotonic() - began
    largest = max(float(np.abs(one - other).max()) for one, other in zip(found, scores, strict=True))
    same = np.mean([(one.argmax(-1) == other.argmax(-1)).mean() for one, other in zip(found, scores, strict=True)])
    _say(
        f"the model here (float32): {pairs / seconds:6.1f} pairs/s; largest difference {largest:.1e} nats, "
        f"same label {same:.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab.benchmarks.endpoints", description=__doc__)
    parser.add_argument("url", help="address of the server")
    parser.add_argument("--kind", default="vllm", help="kind of server")
    parser.add_argument("--model", default="served", help="name of the model at the server")
    parser.add_argument("--tokenizer", default=BUNDLED_MODEL, help="the model's tokenizer")
    parser.add_argument("--local", default=BUNDLED_MODEL, help="the same model here; empty for none")
    parser.add_argument("--prefixes", type=int, default=12)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 8, 32], help="requests at once")
    measure(parser.parse_args())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

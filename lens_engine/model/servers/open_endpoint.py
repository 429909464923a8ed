"""Opens a model behind a server: connects, lets the server prove itself, and keeps its answers on disk."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lens_engine.disk import cache_folder, keep_note, read_note
from lens_engine.errors import EndpointError, InvalidConfig, InvalidInput
from lens_engine.model.base import SERVER, ScorerIdentity
from lens_engine.model.local.model_files import find_tokenizer
from lens_engine.model.score_cache import PairCache
from lens_engine.model.servers.address import Endpoint, EndpointKind
from lens_engine.model.servers.chat import ChatServer, SampledServer
from lens_engine.model.servers.conformance import EXACT_NATS, Conformance, check_server
from lens_engine.model.servers.contract import Server, in_form_of
from lens_engine.model.servers.llama_cpp import LlamaCppServer
from lens_engine.model.servers.scorer import EndpointScorer
from lens_engine.model.servers.token_server import VllmServer
from lens_engine.model.servers.transport import Transport
from lens_engine.model.spending import Spending
from lens_engine.model.tokenization import SegmentTokenizer

SERVER_KINDS: Mapping[EndpointKind, type[Server]] = {
    "vllm": VllmServer,
    "llama-cpp": LlamaCppServer,
    "openai-chat": ChatServer,
}

_SAME_NATS, _SAME_CHAT_NATS = 0.1, 0.25
"""Least tolerance within which two sets of check scores are of one model. Servers drift from day to day."""

_STEP_NATS = 0.5

_PATIENCE_SECONDS = 20.0
"""Longest wait for the file of answers while it is written elsewhere: an answer that is not kept is paid again."""


def open_endpoint(
    endpoint: Endpoint, *, name: str | None = None, cache_dir: Path | None = None, answer_bytes: int | None
) -> EndpointScorer:
    """Connect to a server and check it.

    Args:
        name: name of the model in results, and in errors instead of the address, which may be private; None for that of
            `endpoint`.
        cache_dir: folder of the answers; None for `LENS_CACHE_DIR` or ~/.cache/lens.
        answer_bytes: largest size of the file of answers (bytes); None keeps none, and then a run that is repeated pays
            again.
    """
    spending = Spending(endpoint.prices)
    transport = Transport(endpoint, spending, None if name is None else f"the server of the model {name!r}")
    try:
        server = _meet(endpoint, transport, cache_dir)
        conformance = _check(server, transport)
        revision, repeats = _recognise(server, conformance, cache_dir)
    except BaseException:
        transport.close()
        raise
    identity = ScorerIdentity(
        model=name or endpoint.model,
        revision=revision,
        dtype="float32" if repeats <= EXACT_NATS and server.facts.number_format in (None, "float32") else "unknown",
        device=SERVER,
        executor=endpoint.kind,
        executor_note="; ".join(filter(None, [server.facts.version, server.facts.note, conformance.describe()])),
    )
    answers = None
    if answer_bytes is not None:
        answers = PairCache(cache_folder(cache_dir) / "answers.sqlite3", answer_bytes, _PATIENCE_SECONDS)
    return EndpointScorer(
        server, transport, spending, identity, conformance, answers, most_requests=endpoint.most_requests
    )


def _meet(endpoint: Endpoint, transport: Transport, cache_dir: Path | None) -> Server:
    tokenizer = None if endpoint.tokenizer is None else _read_tokenizer(endpoint.tokenizer, cache_dir)
    kind = SampledServer if endpoint.answers == "sampled" else SERVER_KINDS[endpoint.kind]
    with in_form_of(endpoint.kind, transport.where):
        return kind.meet(endpoint, transport, tokenizer, cache_dir)


def _check(server: Server, transport: Transport) -> Conformance:
    """As `check_server`. Prompts that are known to be right are refused for what the server says of their tokens."""
    try:
        return check_server(server, transport)
    except InvalidInput as error:
        raise EndpointError(f"{transport.where} cannot take the known prompts (check: tokens): {error}") from error


def _read_tokenizer(reference: str, cache_dir: Path | None) -> SegmentTokenizer:
    found = find_tokenizer(reference, cache_dir)
    if found is None:
        raise InvalidConfig(
            f"{reference} has no tokenizer.json on this machine; name the model's folder, or no tokenizer, to ask the "
            "server",
            field="tokenizer",
        )
    return found


def _recognise(server: Server, conformance: Conformance, cache_dir: Path | None) -> tuple[str, float]:
    """The revision of the model, and how far its repeats differ (nats).

    Few servers repeat themselves bit for bit, and they must keep their revision all the same, on this machine and on
    others. So the revision has only the mean of the check scores, in coarse steps. The scores themselves are kept in
    the cache folder: if a server differs from all that were seen under its name there, it is another model.
    """
    facts = server.facts
    key = ["endpoint", facts.version, facts.model, dict(facts.details), *server.surroundings]
    known: list[dict[str, Any]] = json.loads(read_note(key, cache_dir) or "[]")
    scores = conformance.scores.astype(np.float64)
    least = _SAME_CHAT_NATS if server.takes_turns else _SAME_NATS
    for one in known:
        tolerance = max(least, 3 * conformance.repeat_nats, 3 * one["repeat"])
        if conformance.differ(np.array(one["scores"])) <= tolerance:
            return one["revision"], one["repeat"]
    steps = [round(float(scores.mean()) / _STEP_NATS)]
    revision = _digest([key, steps])
    if any(one["revision"] == revision for one in known):
        revision = _digest([key, scores.tolist()])
    new = {"revision": revision, "repeat": conformance.repeat_nats, "scores": scores.tolist()}
    keep_note(key, json.dumps([*known, new]), cache_dir)
    return revision, conformance.repeat_nats


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

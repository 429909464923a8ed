"""`LabelScorer` over a server, with its answers on disk: an answer that was paid for is never asked for again."""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lens_engine.disk import cache_folder, keep_note, read_note
from lens_engine.errors import EndpointError, InvalidConfig, InvalidInput
from lens_engine.model.base import SERVER, Block, BlockScorer, ScorerIdentity
from lens_engine.model.limits import check_finite, check_pair_lengths, check_prompt_lengths
from lens_engine.model.local.model_files import find_tokenizer
from lens_engine.model.score_cache import PairCache
from lens_engine.model.servers.address import Endpoint, EndpointKind
from lens_engine.model.servers.chat import ChatServer, SampledServer
from lens_engine.model.servers.conformance import EXACT_NATS, Conformance, ask_block, check_server
from lens_engine.model.servers.contract import Parts, ReadBatch, ReadPlan, Server, in_form_of
from lens_engine.model.servers.llama_cpp import LlamaCppServer
from lens_engine.model.servers.token_server import VllmServer
from lens_engine.model.servers.transport import Transport
from lens_engine.model.spending import Bill, Spending
from lens_engine.model.tokenization import SegmentTokenizer
from lens_engine.prompt.template import Task
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs


class Row(NamedTuple):
    """Queries that follow one prefix, and the place of their scores in those of the block."""

    row: int
    columns: slice
    prefix: Parts
    queries: list[Parts]


@dataclass(slots=True)
class PendingBlock:
    """A block, and the requests that it waits for."""

    plan: ReadPlan
    reads: list[FloatArray]  #: of each read of the plan  # [rows, columns, wanted]
    pairs_found: int = 0
    requests: list["Future[FloatArray]"] = field(default_factory=list)
    places: list[tuple[FloatArray, list[int]]] = field(default_factory=list)
    """Where the values of each request belong: a view of `reads`  # [queries of a prefix, wanted], and its rows."""

    @property
    def is_answered(self) -> bool:
        return all(request.done() for request in self.requests)


def list_rows(server: Server, block: Block) -> list[Row]:
    """The prefixes of a block, each with the queries after it: all queries or, in a paired block, its own alone."""
    encoded = server.encode(block.prefixes, block.queries)
    if not block.is_paired:
        return [Row(row, slice(0, len(queries)), prefix, queries) for row, (prefix, queries) in enumerate(encoded)]
    return [
        Row(0, slice(place, place + 1), prefix, queries[place : place + 1])
        for place, (prefix, queries) in enumerate(encoded)
    ]


def list_requests(blocks: Iterable[PendingBlock]) -> list["Future[FloatArray]"]:
    return [request for one in blocks for request in one.requests]


CHECK_EVERY = 1_000
"""Requests between two looks at whether the server still answers as at connection."""

_PENDING_REQUESTS = 4
"""Requests that wait or are under way for each one that may be under way: then none waits for the caller."""

_SHIFT_NATS = 0.5
"""Largest difference of a check prompt from what the server answered at connection."""


class EndpointScorer(BlockScorer):
    """Scores label words at a server, with workers, because blocks are under way together. `close` ends it.

    Args:
        answers: answers kept on disk; None keeps none.
    """

    def __init__(
        self,
        server: Server,
        transport: Transport,
        spending: Spending,
        identity: ScorerIdentity,
        conformance: Conformance,
        answers: PairCache | None = None,
        *,
        most_requests: int = 32,
    ) -> None:
        self._identity = identity
        self.spending: Spending = spending
        self.surroundings = server.surroundings
        self.takes_turns = server.takes_turns
        self.gives_answers_only = server.gives_answers_only
        self.max_prompt_tokens = server.facts.context
        self.num_workers = most_requests
        self.conformance = conformance
        self.pairs_found = 0  #: whose answers were on disk
        self._server = server
        self._transport = transport
        self._answers = answers
        self._checked_at = spending.requests
        self._identity_of_keys = json.dumps([identity.revision, self.surroundings]).encode()

    @property
    def identity(self) -> ScorerIdentity:
        return self._identity

    def fit_task(self, task: Task) -> Task:
        return self._server.fit_task(task) if isinstance(self._server, ChatServer) else super().fit_task(task)

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._server.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        return self._server.encode_label_spans(label_spans)

    def bill(self, pairs: int, prompt_tokens: int, label_spans: Sequence[str], prefixes: int = 1) -> Bill:
        """As `LabelScorer.bill`. Each read of the label words asks for each prompt again."""
        suffixes = self._server.plan(label_spans).suffixes
        tokens = prompt_tokens * len(suffixes) + pairs * sum(map(len, suffixes))
        requests = len(suffixes) * max(prefixes, -(-pairs // self._server.prompts_per_request))
        written = pairs * len(suffixes) * self._server.most_written
        has_prices = self.spending.prices is not None
        return Bill(requests, tokens, self.spending.estimate(tokens, written) if has_prices else None)

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `LabelScorer.score_blocks`.

        Raises:
            BudgetSpent: the limit of `spending` ends the run; what was answered is on disk.
            EndpointError: the server refuses, or its answers are no scores; or as `LabelScorer.score`.
        """
        plan = self._server.plan(label_spans)
        pending = deque[PendingBlock]()
        try:
            for block in blocks:
                pending.append(self._start(block, plan))
                while pending and (pending[0].is_answered or self._is_busy(pending)):
                    yield self._finish(pending, label_spans)
            while pending:
                yield self._finish(pending, label_spans)
        finally:
            if pending:
                self._transport.drain(list_requests(pending))

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def _is_busy(self, pending: Iterable[PendingBlock]) -> bool:
        waiting = sum(not request.done() for request in list_requests(pending))
        return waiting >= _PENDING_REQUESTS * self.num_workers

    def _start(self, block: Block, plan: ReadPlan) -> PendingBlock:
        """Look every read up, and ask for those that are not found."""
        one = PendingBlock(plan, [np.zeros((*block.shape, len(wanted))) for wanted in plan.wanted])
        lengths = self._count_block(block, plan)
        missing = np.zeros(block.shape, dtype=bool)
        for row, columns, prefix, queries in list_rows(self._server, block):
            for read, (suffix, wanted) in enumerate(zip(plan.suffixes, plan.wanted, strict=True)):
                endings = [query + suffix for query in queries]
                keys = _make_keys(self._identity_of_keys, prefix, endings, wanted)
                view = one.reads[read][row, columns]
                absent = self._look_up(view, keys)
                missing[row, columns][absent] = True
                for start in range(0, len(absent), self._server.prompts_per_request):
                    chosen = absent[start : start + self._server.prompts_per_request]
                    batch = ReadBatch(prefix, tuple(endings[query] for query in chosen), wanted)
                    request = self._transport.start(self._ask(batch, [keys[query] for query in chosen]))
                    tokens = int(lengths[row, columns][chosen].sum()) + len(chosen) * len(suffix)
                    written = len(chosen) * self._server.most_written
                    self.spending.expect(self.spending.estimate(tokens, written), request)
                    one.requests.append(request)
                    one.places.append((view, chosen))
        one.pairs_found = int((~missing).sum())
        return one

    def _finish(self, pending: deque[PendingBlock], label_spans: Sequence[str]) -> LabelLogProbs:
        """Wait for the answers of the first block, and take it out."""
        one = pending[0]
        found = self._transport.wait_all(one.requests, others=list_requests(pending))
        for values, (view, rows) in zip(found, one.places, strict=True):
            view[rows] = values
        pending.popleft()
        if self.spending.requests - self._checked_at >= CHECK_EVERY:
            self._checked_at = self.spending.requests
            self._check_again()
        self.pairs_found += one.pairs_found
        scores = one.plan.sum_paths(one.reads)
        check_finite(scores, label_spans)
        return scores

    def _look_up(self, values: FloatArray, keys: Sequence[bytes]) -> list[int]:
        """Fill in the answers on disk; returns the numbers of the endings without one."""
        if self._answers is None:
            return list(range(len(values)))
        found = self._answers.find_all(keys)
        for number, key in enumerate(keys):
            if key in found:
                values[number] = found[key].ravel()
        return [number for number, key in enumerate(keys) if key not in found]

    async def _ask(self, batch: ReadBatch, keys: Sequence[bytes]) -> FloatArray:
        values = (await self._server.answer(batch)).astype("<f4")
        if self._answers is not None:
            self._answers.keep_all(dict(zip(keys, values.reshape(len(keys), 1, 1, -1), strict=True)))
        return values.astype(np.float64)

    def _count_block(self, block: Block, plan: ReadPlan) -> IndexArray:
        """Number of tokens of each prompt  # [rows, columns]."""
        prefixes = [sum(self.count_tokens(prefix)) for prefix in block.prefixes]
        queries = self.count_tokens(block.queries)
        check = check_pair_lengths if block.is_paired else check_prompt_lengths
        check(prefixes, queries, max(map(len, plan.paths)), self.max_prompt_tokens)
        held, asked = (np.array(lengths, dtype=np.intp) for lengths in (prefixes, queries))
        return (held + asked)[np.newaxis] if block.is_paired else np.add.outer(held, asked)

    def _check_again(self) -> None:
        """Ask one of the known prompts again; all, if the model may answer some otherwise."""
        block, spans = self._server.check
        queries = block.queries if self.conformance.forgiven else block.queries[:1]
        found = ask_block(self._server, self._transport, Block(block.prefixes, queries), spans)
        shift = self.conformance.differ(found.scores)
        if shift > max(_SHIFT_NATS, 3 * self.conformance.repeat_nats):
            raise EndpointError(
                f"{self._transport.where} answers a known prompt otherwise than at connection, by {shift:.2f} nats "
                "(check: same model): somebody exchanged its model; run again, so that one model answers everything"
            )


def _make_keys(identity: bytes, prefix: Parts, endings: Iterable[Parts], wanted: Parts) -> list[bytes]:
    """SHA-256 of all that decides each answer; `identity` is what tells the model and how it is read."""
    common = hashlib.sha256(identity)
    common.update(json.dumps([wanted, prefix]).encode())
    keys = []
    for ending in endings:
        digest = common.copy()
        digest.update(json.dumps(ending).encode())
        keys.append(digest.digest())
    return keys


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

"""What a server has to prove before it is believed. Each check here caught a server that answered wrong numbers.

Eight known prompts are asked three times. Keys, values, the model and the count of tokens are checked in every answer,
by the modules of the kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lens_engine.errors import EndpointError
from lens_engine.model.base import Block
from lens_engine.model.limits import REFUSED, check_refused, find_rows
from lens_engine.model.servers.contract import ReadBatch, Server
from lens_engine.model.servers.transport import Transport
from lens_engine.types import LabelLogProbs

CHECK_TURNS = (("Is ice cold?", "yes"), ("Is a mouse larger than a house?", "no"))
CHECK_QUESTIONS = (
    "Does a week have seven days?",
    "Can a stone swim?",
    "Do birds have wings?",
    "Is the moon made of wood?",
    "Is seven more than three?",
    "Are all numbers even?",
    "Is fire cold?",
    "Do fish need water?",
)
"""The known prompts: what each asks, after two questions with their answers."""

EXACT_NATS = 1e-3
"""A server whose repeats differ by less computes as in float32."""

_MOST_REPEAT_NATS = 0.25  # quantised weights with a prefix cache: 0.1
_FORGIVEN_ANSWERS = 2  # of a server that gives answers only, whose model may answer by chance
_LEAST_SPREAD_NATS = 1e-3
_LEAST_MASS = 1e-4


class CheckAnswer(NamedTuple):
    """What a server answers to the known prompts."""

    scores: LabelLogProbs  #: `[queries, labels]`; NaN for a prompt that was refused for its content
    mass: float  #: mean probability of the first tokens of all label words together


@dataclass(frozen=True, slots=True)
class Conformance:
    """What the checks measured. `scores` are those of the first time  # [queries, labels].

    `repeat_nats`, `order_nats` and `differ` leave out the `forgiven` prompts that differ most.
    """

    scores: LabelLogProbs
    repeat_nats: float  #: largest difference between two times
    order_nats: float  #: largest difference when the label words are asked for in reversed order
    mass: float  #: mean probability of the first tokens of all label words together
    spread_nats: float  #: largest difference between two prompts, of one label word
    forgiven: int = 0  #: number of prompts that a model may answer otherwise from time to time

    @classmethod
    def of(cls, first: CheckAnswer, again: CheckAnswer, reversed_: CheckAnswer, *, forgiven: int = 0) -> "Conformance":
        """The labels of the last are in reversed order. A prompt that was refused once is taken from another time."""
        in_order = reversed_.scores[:, ::-1]
        scores = np.where(np.isnan(first.scores), again.scores, first.scores)
        scores = np.where(np.isnan(scores), in_order, scores)
        return cls(
            scores=scores,
            repeat_nats=_differ(scores, again.scores, forgiven),
            order_nats=_differ(scores, in_order, forgiven),
            mass=first.mass,
            spread_nats=float(np.ptp(scores, axis=0).max()),
            forgiven=forgiven,
        )

    def differ(self, scores: LabelLogProbs) -> float:
        """Largest difference (nats) from the scores of all known prompts or the first of them  # [queries, labels]."""
        return _differ(self.scores[: len(scores)], scores, self.forgiven)

    def check(self, where: str, why_alike: str) -> None:
        """
        Args:
            why_alike: as `Server.why_alike`.
        """
        if self.spread_nats < _LEAST_SPREAD_NATS:
            raise EndpointError(
                f"{where} gives every prompt the same scores, {self.scores.flat[0]:.4f} (check: prompts): {why_alike}"
            )
        for name, found, remedy in (
            ("order", self.order_nats, "its scores depend on the order in which label words are asked for"),
            ("repeat", self.repeat_nats, "its scores are not repeatable; ask it for fewer requests at once"),
        ):
            if found > _MOST_REPEAT_NATS:
                raise EndpointError(
                    f"{where} differs from itself by {found:.3f} nats, more than {_MOST_REPEAT_NATS} "
                    f"(check: {name}): {remedy}"
                )
        if self.mass < _LEAST_MASS:
            raise EndpointError(
                f"{where} gives the answers to simple questions together the probability {self.mass:.1e} "
                "(check: mass): its prompts are not those that Lens sends; look for a chat template or a filter"
            )

    def describe(self) -> str:
        forgiven = f", {self.forgiven} of {len(self.scores)} prompts left out" if self.forgiven else ""
        return (
            f"repeats agree to {self.repeat_nats:.1e} nats, orders of labels to {self.order_nats:.1e}{forgiven}, "
            f"label words have {self.mass:.3f} of the probability"
        )


def _differ(scores: LabelLogProbs, others: LabelLogProbs, forgiven: int) -> float:
    """As `Conformance.differ`; a prompt that was refused does not differ."""
    return float(np.sort(np.nan_to_num(np.abs(scores - others)).max(axis=1))[-1 - forgiven])


def ask_block(
    server: Server, transport: Transport, block: Block, label_spans: Sequence[str], *, at_once: bool = False
) -> CheckAnswer:
    """Ask a block with one prefix. Its answer is never from disk.

    Args:
        at_once: whether each prompt is a request of its own, all at the same time: in another batch, a server computes
            other bits.
    """
    plan = server.plan(label_spans)
    ((prefix, queries),) = server.encode(block.prefixes, block.queries)
    groups = [[query] for query in queries] if at_once else [queries]
    found = transport.wait_all(
        [
            transport.start(server.answer(ReadBatch(prefix, tuple(query + suffix for query in group), wanted)))
            for suffix, wanted in zip(plan.suffixes, plan.wanted, strict=True)
            for group in groups
        ]
    )
    reads = [np.concatenate(found[start : start + len(groups)]) for start in range(0, len(found), len(groups))]
    first = reads[0]  # that of the root
    is_refused = find_rows(first, REFUSED)
    mass = np.where(first > server.least_check_nats, np.exp(first), 0.0).sum(axis=1)[~is_refused]
    scores = plan.sum_paths(reads).clip(min=np.float32(server.least_check_nats))
    scores[is_refused] = np.nan
    return CheckAnswer(scores, float(mass.mean()) if len(mass) else 1.0)


def check_server(server: Server, transport: Transport) -> Conformance:
    """Ask the known prompts."""
    block, spans = server.check
    first, again = (ask_block(server, transport, block, spans, at_once=at_once) for at_once in (False, True))
    found = (first, again, ask_block(server, transport, block, spans[::-1]))
    refused = sum(int(np.isnan(one.scores).any(axis=1).sum()) for one in found)
    check_refused(refused, len(found) * len(block.queries), transport.where)
    conformance = Conformance.of(*found, forgiven=_FORGIVEN_ANSWERS if server.gives_answers_only else 0)
    conformance.check(transport.where, server.why_alike)
    return conformance

"""Requests to a chat API, in the first way that it takes."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lens_engine.errors import EndpointError
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.contract import ServerFacts
from lens_engine.model.servers.refusal import RequestRefused, is_about_content, read_name
from lens_engine.model.servers.transport import Transport
from lens_engine.prompt.chat import Turn, lift_system, merge_fields

_FILTERED = {
    *("content_filter", "content_filtered", "guardrail_intervened", "prohibited_content", "refusal", "safety"),
    "sensitive",
}
"""Why an answer ends that is withheld, as vendors call it."""

_TAG = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection)"
_BEGINS = re.compile(rf"<{_TAG}>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)", re.IGNORECASE)
_ENDS = re.compile(rf".*(?:</{_TAG}>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>)", re.IGNORECASE | re.DOTALL)
"""What a model thinks, up to its last end. A chat template may have put the beginning into the prompt."""


def read_choice(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The first choice; None if the content was refused, by the server or by the model."""
    if "choices" not in answer and is_about_content(json.dumps(answer.get("error"))):
        return None
    choice = {**answer["choices"][0]}
    is_refused = (choice.get("message") or {}).get("refusal")
    return None if is_refused or str(choice.get("finish_reason")).lower() in _FILTERED else choice


def read_said(choice: dict[str, Any]) -> str | None:
    """What the model says without what it thinks; None if its limit ended it before it said something."""
    content = choice["message"]["content"] or ""
    if isinstance(content, list):  # parts, some of which are thoughts
        content = "".join(part["text"] for part in content if part["type"] == "text")
    said, *unfinished = _BEGINS.split(_ENDS.sub("", str(content), count=1), maxsplit=1)
    is_cut = unfinished or choice.get("finish_reason") == "length"
    return None if is_cut and not said.strip() else said


TOP, FEW = 20, 5
"""Numbers of most probable tokens that are asked for: the most that OpenAI gives, and what every API gives that gives
some."""

USUAL_CONTEXT = 32_768
"""Longest prompt of an endpoint that names none (tokens)."""

IN_TURN = "system message in the first turn"


@dataclass(frozen=True, slots=True)
class Way:
    """How a chat API is asked."""

    system_in_turn: bool = False  #: as in `ChatForm`
    top: int = TOP  #: number of most probable tokens that are asked for


class ChatClient:
    """Asks a chat API for completions."""

    def __init__(self, endpoint: Endpoint, transport: Transport, ways: Sequence[Way], usual_written: int) -> None:
        self.answered_as: str | None = None
        self.way, *self._left = ways
        self._endpoint = endpoint
        self._transport = transport
        self._usual_written = usual_written
        self._fingerprint = ""

    def ask_otherwise(self) -> bool:
        """As `Server.ask_otherwise`."""
        has_more = bool(self._left)
        if has_more:
            self.way = self._left.pop(0)
        return has_more

    @property
    def most_written(self) -> int:
        """As `Server.most_written`; the context, if the endpoint leaves the limit out."""
        fields = merge_fields(self._endpoint.extra, self._usual_written)
        limits = [fields.get(name) for name in ("max_completion_tokens", "max_tokens")]
        return max((limit for limit in limits if isinstance(limit, int)), default=self.facts.context)

    @property
    def facts(self) -> ServerFacts:
        """The name under which the model answers is part of its identity. `system_fingerprint` is not: vendors change
        it with each machine."""
        way = [IN_TURN] * self.way.system_in_turn + [f"lists {FEW} tokens"] * (self.way.top == FEW)
        return ServerFacts(
            version="openai-chat",
            model=self._endpoint.model,
            context=self._endpoint.context or USUAL_CONTEXT,
            details={"answers as": self.answered_as},
            note=", ".join(filter(None, [self._transport.clean(self.answered_as or ""), self._fingerprint, *way])),
        )

    async def complete(self, turns: Sequence[Turn], tokens: int, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first choice of an answer; None if the content was refused.

        Args:
            tokens: number of tokens of the turns.
            fields: of the request, beside those that every request has.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the answer has another form.
        """
        messages = lift_system(turns, self.way.system_in_turn)
        usual = merge_fields(self._endpoint.extra, self._usual_written)
        body = {**fields, "model": self._endpoint.model, "messages": messages, **usual}
        try:
            answer = await self._transport.post("/chat/completions", body, tokens=tokens, written=self.most_written)
        except RequestRefused as error:
            if error.is_for_content:
                return None
            raise
        choice = read_choice(answer)
        if choice is not None:
            self._check_model(read_name(answer["model"]), answer.get("system_fingerprint"))
        return choice

    def _check_model(self, name: str | None, fingerprint: object) -> None:
        """A name with a date may answer for one without; another one later is another model."""
        self._fingerprint = self._transport.clean(fingerprint or "")
        self.answered_as = self.answered_as or name
        if name != self.answered_as:
            raise EndpointError(
                f"{self._transport.where} answers under another name than before (check: model): name the model with "
                "its date, or an address that asks one model",
                said=self._transport.clean(f"{name}, and before {self.answered_as}"),
            )

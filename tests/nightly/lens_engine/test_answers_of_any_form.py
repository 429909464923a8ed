"""Answers with anything at any place, over real HTTP: a server that is believed gives scores, and no other is."""

import json
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response

from lens_engine.errors import EndpointError
from lens_engine.servers.address import AnswerKind, Endpoint, EndpointKind
from lens_engine.servers.open_endpoint import open_endpoint
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
from tests.endpoints.chat_double import ChatDouble
from tests.endpoints.double import MODEL, Double, HashBehind
from tests.endpoints.serving import Served, serving

DEEP = "nested without end"
GONE = "no such key"

strange = st.sampled_from(
    [
        *(None, True, 0, -1, 3, 2**31, 10**400, -(10**400), 1e308, float("nan"), float("inf"), -9999.0, 0.5),
        *("", "x", "\0", "\ud800", "served", "-1.0", "token_id:²", "token_id:9" + "9" * 20, "x" * 5000, DEEP, GONE),
        *([], {}, [[]], [{}], ["x"], [0], {"": None}, {"id": []}, {"tokens": [[0]]}, [[-1.0, 3, None]]),
    ]
)
json_values = st.recursive(strange, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner))
turns = st.lists(st.integers(0, 9), max_size=9)


def spoil(answer: Any, turns: list[int], value: Any) -> Any:
    """The answer with `value` at the place to which `turns` lead, or without what is there."""
    if not turns or not isinstance(answer, dict | list) or not answer:
        return value
    keys = sorted(answer) if isinstance(answer, dict) else list(range(len(answer)))
    key = keys[turns[0] % len(keys)]
    changed = answer.copy()
    changed[key] = spoil(answer[key], turns[1:], value)
    if changed[key] == GONE:
        del changed[key]
    return changed


@dataclass
class Spoiling:
    """A server whose answers at one path are spoiled."""

    inner: Served
    url: str = ""
    path: str = ""
    spoil: Callable[[Any], Any] = field(default=lambda answer: answer)

    def app(self) -> Starlette:
        app = self.inner.app()

        async def change(request: Request, call: Any) -> Response:
            response = await call(request)
            if request.url.path != self.path:
                return response  # type: ignore[no-any-return]
            body = b"".join([piece async for piece in response.body_iterator])
            text = json.dumps(self.spoil(json.loads(body)))
            return Response(text.replace(json.dumps(DEEP), "[" * 100_000 + "]" * 100_000))

        app.add_middleware(BaseHTTPMiddleware, dispatch=change)
        return app


PATHS: list[tuple[EndpointKind, AnswerKind, str]] = [
    ("vllm", "probabilities", "/v1/models"),
    ("vllm", "probabilities", "/version"),
    ("vllm", "probabilities", "/tokenize"),
    ("vllm", "probabilities", "/v1/completions"),
    ("llama-cpp", "probabilities", "/props"),
    ("llama-cpp", "probabilities", "/tokenize"),
    ("llama-cpp", "probabilities", "/completion"),
    ("openai-chat", "probabilities", "/v1/chat/completions"),
    ("openai-chat", "sampled", "/v1/chat/completions"),
]


@pytest.mark.parametrize(("kind", "answers", "path"), PATHS)
def test_answer_of_any_form_is_scores_or_the_server_s_fault(
    kind: EndpointKind, answers: AnswerKind, path: str, tmp_path: Path
) -> None:
    inner: Served = ChatDouble() if kind == "openai-chat" else Double(HashBehind(), listed=20)
    task = Task(Template("{text} It was {label}"), Verbalizer({"a": "Billing", "b": "Delivery"}))
    with serving(Spoiling(inner)) as server:
        server.path = path
        url = f"{server.url}/v1" if kind == "openai-chat" else server.url
        endpoint = Endpoint(kind, url, MODEL, answers=answers)

        @settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(turns, json_values)
        def ask(turns: list[int], value: Any) -> None:
            server.spoil = lambda answer: spoil(answer, turns, value)
            with (
                suppress(EndpointError),
                closing(open_endpoint(endpoint, cache_dir=tmp_path, answer_bytes=None)) as scorer,
            ):
                fitted = scorer.fit_task(task)
                queries = [fitted.render_query("A bill.")]
                assert np.isfinite(scorer.score([()], queries, fitted.label_spans)).all()
                assert all(str(value).isprintable() for value in asdict(scorer.identity).values())

        ask()

"""A model of a hash and a server that answers /v1/completions of it over HTTP, as vLLM does with `echo`."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_TOKEN = re.compile(r"\w+|\W")
BOS = "<s>"

Body = dict[str, Any]


def log_prob_of_token(before: str, token: str) -> float:
    """In (-8, 0], a multiple of 1/64, so that sums are exact in float32."""
    digest = hashlib.blake2b(f"{before}\x1f{token}".encode("utf-8", "surrogatepass"), digest_size=2).digest()
    return -(int.from_bytes(digest, "big") % 512) / 64


def log_probs_of(text: str) -> list[tuple[str, float]]:
    """Each token of a text with its log-probability."""
    return [(one[0], log_prob_of_token(text[: one.start()], one[0])) for one in _TOKEN.finditer(text)]


def log_prob_of_span(prefix: tuple[str, ...], query: str, span: str) -> float:
    """As a TableScorer wants it: the span's tokens after all text before them."""
    before = "".join(prefix) + query
    return sum(log_prob_of_token(before + span[: one.start()], one[0]) for one in _TOKEN.finditer(span))


def answer_completions(body: Body) -> Body:
    """As vLLM with `echo`, but that no text offset is true: those of vLLM are not after part of a character."""
    choices = []
    for index, prompt in enumerate(body["prompt"]):
        found = [(BOS, None), *log_probs_of(prompt), (" the", -1.5)]
        log_probs = {
            "tokens": [token for token, _ in found],
            "token_logprobs": [value for _, value in found],
            "text_offset": [-1 for _ in found],
        }
        choices.append({"index": index, "text": f"{prompt} the", "logprobs": log_probs, "finish_reason": "length"})
    return {"choices": choices[::-1], "usage": {"completion_tokens": len(choices)}}


@dataclass
class ToyEndpoint:
    """A server, and what it was asked."""

    url: str = ""
    asked: list[tuple[str, Any, Body]] = field(default_factory=list)  #: path, Authorization, body


@contextmanager
def serving(answer: Callable[[Body], Body] = answer_completions, status: int = 200) -> Iterator[ToyEndpoint]:
    """A server on a free port; its `url` is a base URL."""
    endpoint = ToyEndpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append((self.path, self.headers["Authorization"], body))
            content = json.dumps(answer(body)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
            yield endpoint
        finally:
            server.shutdown()
            thread.join()

"""A server without Lens: the same requests, sent as fast as the server takes them, by plain sockets."""

import http.client
import json
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Request(NamedTuple):
    path: str
    body: dict[str, Any]


def salt(requests: Sequence[Request], token: int, place: int) -> list[Request]:
    """The same requests with another token at a place of every prompt, so that no cache of the server has them."""
    return [Request(one.path, one.body | {"prompt": _salt(one.body["prompt"], token, place)}) for one in requests]


def _salt(prompt: list[Any], token: int, place: int) -> list[Any]:
    if prompt and isinstance(prompt[0], list | tuple):
        return [_salt(list(one), token, place) for one in prompt]
    return [*prompt[:place], token, *prompt[place + 1 :]]


def send_all(url: str, requests: Sequence[Request], at_once: int) -> float:
    """Seconds that the server takes for the requests, `at_once` of them at any time."""
    waiting = iter([(one.path, json.dumps(one.body).encode()) for one in requests])
    lock = threading.Lock()

    def work() -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        while True:
            with lock:
                request = next(waiting, None)
            if request is None:
                break
            connection.request("POST", request[0], request[1], {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != http.client.OK:
                raise RuntimeError(f"the server answered {answer.status}")
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - began

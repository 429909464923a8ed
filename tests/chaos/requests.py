"""One request of a client, and what its answer means."""

import random
import time
from collections.abc import Callable

import httpx

from tests.chaos.history import History, Outcome
from tests.chaos.settings import key_of

TIMEOUT_SECONDS = 10.0
_REFUSALS = {429, 503}
_IN_FLIGHT = 409


class Requester:
    """Sends the requests of one owner to any of the API processes, and notes what comes of each."""

    def __init__(self, owner: str, addresses: list[str], history: History, draw: random.Random) -> None:
        self.owner = owner
        self._history = history
        self._draw = draw
        headers = {"Authorization": f"Bearer {key_of(owner)}"}
        self._clients = [httpx.Client(base_url=one, headers=headers, timeout=TIMEOUT_SECONDS) for one in addresses]

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def send(self, action: str, request: Callable[[httpx.Client], httpx.Response]) -> httpx.Response | None:
        """Send once. None if there was no answer, or a refusal that asks to repeat the request."""
        started = time.monotonic()
        try:
            response = request(self._draw.choice(self._clients))
        except httpx.TransportError as error:
            self._history.note_silence(action, error)
            return None
        seconds = time.monotonic() - started
        is_refused = response.status_code in _REFUSALS or _is_in_flight(action, response)
        outcome = Outcome.FAIL if is_refused else Outcome.OK
        self._history.note(action, outcome, seconds, response.status_code if is_refused else None)
        if response.status_code in _REFUSALS and "Retry-After" not in response.headers:
            self._history.violate("I10", f"{action} got {response.status_code} without Retry-After")
        if response.status_code >= 500 and response.status_code not in _REFUSALS:
            detail = f"{action} got {response.status_code}: {response.text[:300]}"
            self._history.violate("I10", detail, response.headers.get("X-Request-ID", ""))
            return None
        return None if is_refused else response


def _is_in_flight(action: str, response: httpx.Response) -> bool:
    return action == "submit" and response.status_code == _IN_FLIGHT

"""A client that uses the service as an owner does, in a thread: submit, poll, cancel, resume, read, delete."""

import random
import threading
from collections.abc import Callable, Sequence

import httpx

from tests.api_keys import headers_of
from tests.chaos.history import Accepted, History
from tests.chaos.submissions import Variant

_ENDED = {"succeeded", "failed", "cancelled"}
_REFUSALS = {429, 503}
_TIMEOUT_SECONDS = 10.0
_CANCELLED, _REPEATED, _DELETED, _STRANGE = 0.15, 0.1, 0.2, 0.1  # shares of the jobs
_REVIVED = 0.5  # share of the cancelled and of the failed ones
_PAUSE_SECONDS = (0.3, 1.2)


class Client(threading.Thread):
    """Submits one selection after the other, asks what it found, and sees each job to its end, until it is stopped."""

    def __init__(
        self, name: str, owner: str, addresses: Sequence[str], history: History, variants: Sequence[Variant]
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._draw = random.Random(name)
        self._owner = owner
        self._history = history
        self._variants = variants
        headers = headers_of(owner)
        self._clients = [httpx.Client(base_url=one, headers=headers, timeout=_TIMEOUT_SECONDS) for one in addresses]
        self._stopping = threading.Event()
        self._abandoned = threading.Event()

    def finish(self) -> None:
        """Submit nothing more."""
        self._stopping.set()

    def abandon(self) -> None:
        """End even if a job of this client has not ended."""
        self._stopping.set()
        self._abandoned.set()

    def run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            accepted = self._submit(self._draw.choice(self._variants), f"{self.name}-{number}")
            if accepted is not None:
                self._see_through(accepted)
        for client in self._clients:
            client.close()

    def _submit(self, submission: Variant, key: str) -> Accepted | None:
        """Repeat the request with the same key until it is answered. None if the run ends before that."""
        while not self._abandoned.is_set():
            response = self._send("submit", lambda client: submission.post(client, key))
            if response is not None and response.status_code == 202:
                accepted = Accepted(response.json()["id"], self._owner, key, submission)
                self._history.accept(accepted)
                return accepted
            if response is not None:
                self._history.violate(f"submit got {response.status_code}: {response.text[:300]}", key)
            if response is not None or self._stopping.is_set():
                return None
            self._pause()
        return None

    def _see_through(self, accepted: Accepted) -> None:
        if self._draw.random() < _CANCELLED:
            self._cancel(accepted)
        if self._draw.random() < _REPEATED:
            self._repeat(accepted)
        self._wait(accepted)
        if accepted.status in {"cancelled", "failed"} and self._draw.random() < _REVIVED:
            self._revive(accepted)
        if accepted.status == "succeeded":
            self._read_result(accepted)
        if self._draw.random() < _STRANGE:
            self._look_at_others(accepted)
        if accepted.status in _ENDED and self._draw.random() < _DELETED:
            self._poll(accepted)  # what has ended stays as it is
            accepted.is_deleted = True  # an answer may be lost
            self._send("delete", lambda client: client.delete(accepted.path))

    def _wait(self, accepted: Accepted) -> None:
        while accepted.status not in _ENDED and not self._abandoned.is_set():
            self._pause()
            self._poll(accepted)

    def _revive(self, accepted: Accepted) -> None:
        """Resume a cancelled or failed job, and wait for its end."""
        accepted.status = "queued"
        response = self._send("resume", lambda client: client.post(f"{accepted.path}/resume"))
        accepted.is_unsure = response is None
        if response is not None and response.status_code not in {200, 202}:
            self._history.violate(f"resume got {response.status_code}: {response.text[:200]}", accepted.id)
        self._wait(accepted)

    def _cancel(self, accepted: Accepted) -> None:
        """Cancel immediately, in the queue, or in the middle of the run."""
        is_later = self._draw.random() < 0.7
        while is_later and accepted.status == "queued" and not self._abandoned.is_set():
            self._pause()
            self._poll(accepted)
        self._send("cancel", lambda client: client.post(f"{accepted.path}/cancel"))

    def _repeat(self, accepted: Accepted) -> None:
        """The same key gets the same job."""
        response = self._send("submit", lambda client: accepted.submission.post(client, accepted.key))
        if response is not None and (response.status_code, response.json().get("id")) != (202, accepted.id):
            self._history.violate(f"a repeated key got {response.status_code}: {response.text[:200]}", accepted.id)

    def _poll(self, accepted: Accepted) -> None:
        response = self._get("poll", accepted.path, {200}, accepted.id)
        if response is not None:
            body = response.json()
            if accepted.status in _ENDED and not accepted.is_unsure and body["status"] != accepted.status:
                self._history.violate(f"{accepted.status} became {body['status']}", accepted.id)
            accepted.status, accepted.digest, accepted.is_partial = body["status"], body["digest"], body.get("partial")

    def _read_result(self, accepted: Accepted) -> None:
        for part, allowed in (("support-examples", {200}), ("result", {200}), ("classifier", {200, 409})):
            self._get("read", f"{accepted.path}/{part}", allowed, accepted.id)

    def _look_at_others(self, mine: Accepted) -> None:
        """Ask for a job of another owner, and for the list of one's own."""
        others = {one.id: one for one in self._history.accepted if one.owner != mine.owner and not one.is_deleted}
        if others:
            other = self._draw.choice(list(others.values()))
            self._get("stranger", other.path, {404}, other.id)
        response = self._get("list", "/selections?limit=50", {200})
        seen = {item["id"] for item in response.json()["items"]} if response is not None else set()
        if leaked := sorted(seen & set(others)):
            self._history.violate(f"the list of {mine.owner} has jobs of others", *leaked)

    def _get(self, action: str, path: str, allowed: set[int], *ids: str) -> httpx.Response | None:
        """Read once. None without an answer, or with one that is not allowed, which is a violation."""
        response = self._send(action, lambda client: client.get(path))
        if response is None or response.status_code in allowed:
            return response
        self._history.violate(f"{action} of {path} by {self._owner} got {response.status_code}", *ids)
        return None

    def _send(self, action: str, request: Callable[[httpx.Client], httpx.Response]) -> httpx.Response | None:
        """Send once to any API process. None without an answer, or with a refusal that asks to repeat the request."""
        try:
            response = request(self._draw.choice(self._clients))
        except httpx.TransportError as error:
            self._history.note(action, type(error).__name__)
            return None
        status = response.status_code
        self._history.note(action, status)
        if status in _REFUSALS and "Retry-After" not in response.headers:
            self._history.violate(f"{action} got {status} without Retry-After")
        if status >= 500 and status not in _REFUSALS:
            self._history.violate(f"{action} got {status}: {response.text[:300]}")
        is_in_flight = action == "submit" and status == 409
        return None if status >= 500 or status in _REFUSALS or is_in_flight else response

    def _pause(self) -> None:
        self._abandoned.wait(self._draw.uniform(*_PAUSE_SECONDS))

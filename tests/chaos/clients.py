"""Clients that use the service as owners do, each in a thread: submit, poll, cancel, read, delete."""

import random
import threading
import time
from dataclasses import dataclass

import httpx

from tests.chaos.history import Accepted, History
from tests.chaos.requests import Requester
from tests.chaos.settings import OWNERS
from tests.chaos.submissions import MODEL_VARIANTS, Variant

_ENDED = {"succeeded", "failed", "cancelled"}
_POLL_SECONDS = (0.3, 1.2)
_REPEAT_SECONDS = (0.2, 1.0)
_CANCELLED_SHARE, _REPEATED_SHARE, _DELETED_SHARE, _STRANGER_SHARE = 0.15, 0.1, 0.2, 0.1
_LARGE_SHARE = 0.04


@dataclass
class ModelBudget:
    """How many more selections the clients may submit with the bundled model."""

    left: int
    pause_seconds: float
    _next_at: float = 0.0

    def take(self) -> bool:
        """Whether to submit one now. Only one client asks."""
        if self.left <= 0 or time.monotonic() < self._next_at:
            return False
        self.left -= 1
        self._next_at = time.monotonic() + self.pause_seconds
        return True


@dataclass(frozen=True, slots=True)
class Workload:
    """What the clients submit, and the seed of their choices."""

    seed: int
    variants: tuple[Variant, ...]


class Client(threading.Thread):
    """Submits one selection after the other, and sees each to its end, until it is told to stop."""

    def __init__(
        self,
        number: int,
        addresses: list[str],
        history: History,
        workload: Workload,
        models: ModelBudget | None = None,
    ) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self._draw = random.Random(f"client-{workload.seed}-{number}")
        self._history = history
        self._workload = workload
        self._models = models
        self._requests = Requester(OWNERS[number % len(OWNERS)], addresses, history, self._draw)
        self._stopping = threading.Event()
        self._abandoned = threading.Event()

    def finish(self) -> None:
        """Submit nothing more."""
        self._stopping.set()

    def abandon(self) -> None:
        """End even if a selection of this client has not ended."""
        self._stopping.set()
        self._abandoned.set()

    def run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            accepted = self._submit(self._choose(), f"{self.name}-{number}")
            if accepted is not None:
                self._see_through(accepted)
        self._requests.close()

    def _choose(self) -> Variant:
        if self._models is not None and self._models.take():
            return self._draw.choice(MODEL_VARIANTS)
        is_large = self._draw.random() < _LARGE_SHARE
        variants = self._workload.variants
        return self._draw.choice([one for one in variants if one.is_large == is_large] or variants)

    def _submit(self, variant: Variant, key: str) -> Accepted | None:
        """Repeat the request with the same key until it is answered. None if the run ends before that."""
        while not self._abandoned.is_set():
            response = self._requests.send("submit", lambda client: variant.post(client, key))
            if response is not None and response.status_code == 202:
                found = Accepted(response.json()["id"], self._requests.owner, key, variant)
                return self._history.accept(found)
            if response is not None:
                self._history.violate("I10", f"submit got {response.status_code}: {response.text[:300]}", key)
                return None
            if self._stopping.is_set():
                return None
            self._pause(_REPEAT_SECONDS)
        return None

    def _see_through(self, accepted: Accepted) -> None:
        if self._draw.random() < _CANCELLED_SHARE:
            self._cancel(accepted)
        if self._draw.random() < _REPEATED_SHARE:
            self._repeat(accepted)
        while accepted.status not in _ENDED and not self._abandoned.is_set():
            self._pause(_POLL_SECONDS)
            self._poll(accepted)
        if accepted.status == "succeeded":
            self._read_result(accepted)
        if self._draw.random() < _STRANGER_SHARE:
            self._look_at_others(accepted)
        if accepted.status in _ENDED and self._draw.random() < _DELETED_SHARE:
            self._poll(accepted)  # what has ended stays as it is
            accepted.is_deleted = True  # an answer may be lost
            self._requests.send("delete", lambda client: client.delete(f"/selections/{accepted.id}"))

    def _cancel(self, accepted: Accepted) -> None:
        """Cancel at once, in the queue, or in the middle of the run."""
        is_later = self._draw.random() < 0.7
        while is_later and accepted.status == "queued" and not self._abandoned.is_set():
            self._pause(_POLL_SECONDS)
            self._poll(accepted)
        if is_later:
            self._abandoned.wait(self._draw.uniform(0.0, 1.0))
        self._requests.send("cancel", lambda client: client.post(f"/selections/{accepted.id}/cancel"))

    def _repeat(self, accepted: Accepted) -> None:
        """The same key gets the same selection."""
        response = self._requests.send("submit", lambda client: accepted.variant.post(client, accepted.key))
        if response is not None and (response.status_code, response.json().get("id")) != (202, accepted.id):
            self._history.violate(
                "I2", f"a repeated key got {response.status_code}: {response.text[:200]}", accepted.id
            )

    def _poll(self, accepted: Accepted) -> None:
        response = self._requests.send("poll", lambda client: client.get(f"/selections/{accepted.id}"))
        if response is None:
            return
        if response.status_code != 200:
            self._history.violate("I1", f"{accepted.owner} polled and got {response.status_code}", accepted.id)
            return
        body = response.json()
        if accepted.status in _ENDED and body["status"] != accepted.status:
            self._history.violate("I4", f"{accepted.status} became {body['status']}", accepted.id)
        accepted.status, accepted.digest, accepted.is_partial = body["status"], body["digest"], body["partial"]

    def _read_result(self, accepted: Accepted) -> None:
        for part, expected in (("support-examples", {200}), ("classifier", {200, 409})):
            response = self._requests.send("read", _get(f"/selections/{accepted.id}/{part}"))
            if response is not None and response.status_code not in expected:
                self._history.violate("I3", f"{part} of a succeeded one got {response.status_code}", accepted.id)

    def _look_at_others(self, mine: Accepted) -> None:
        """Ask for a selection of another owner, and for the list of one's own."""
        with self._history.reading() as known:
            others = [one.id for one in known if one.owner != mine.owner and not one.is_deleted]
        if others:
            other = self._draw.choice(others)
            response = self._requests.send("stranger", _get(f"/selections/{other}"))
            if response is not None and response.status_code != 404:
                self._history.violate("I9", f"{mine.owner} asked and got {response.status_code}", other)
        response = self._requests.send("list", _get("/selections?limit=50"))
        seen = {item["id"] for item in response.json()["items"]} if response is not None else set()
        if leaked := sorted(seen & set(others)):
            self._history.violate("I9", f"the list of {mine.owner} has selections of others", *leaked)

    def _pause(self, seconds: tuple[float, float]) -> None:
        self._abandoned.wait(self._draw.uniform(*seconds))


def _get(path: str):  # type: ignore[no-untyped-def]
    def request(client: httpx.Client) -> httpx.Response:
        return client.get(path)

    return request

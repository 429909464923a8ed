"""Sends requests, holds every answer to the same standard, and notes what was wrong."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.fuzz.answers import Answer, documented_codes, find_faults
from tests.fuzz.population import Population
from tests.fuzz.service import key_of

_TIMEOUT_SECONDS = 120.0
_KEPT = 3


@dataclass
class Requester:
    """One client. Whatever it finds is in `failures`, the first of each kind with the request."""

    population: Population
    folder: Path  #: for requests that failed
    answered: Counter[tuple[str, int]] = field(default_factory=Counter)  #: by operation and status
    unsent: int = 0  #: what cannot be said in HTTP
    failures: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    batch: str = ""  #: what is under way, for failures
    session: requests.Session = field(default_factory=requests.Session)
    _codes: set[tuple[int, str]] = field(default_factory=documented_codes)

    @property
    def num_requests(self) -> int:
        return self.answered.total()

    def send(self, operation: str, owner: str | None, arguments: Mapping[str, Any]) -> requests.Response | None:
        """Send what `requests.Session.request` takes, with the key of `owner`. None if it could not be sent."""
        headers = dict(arguments.get("headers") or {})
        if owner is not None:
            headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            headers["Authorization"] = f"Bearer {key_of(owner)}"
        try:
            made = requests.Request(**{**arguments, "headers": headers})
            prepared = self.session.prepare_request(made)
            if not owner:
                _check_latin(prepared)
            response = self.session.send(prepared, timeout=_TIMEOUT_SECONDS, allow_redirects=False)
        except (requests.ConnectionError, requests.Timeout) as error:
            self.fail(operation, f"no answer: {type(error).__name__} {str(error)[:200]}", str(arguments)[:2000])
            self.answered[operation, 0] += 1
            return None
        except (ValueError, UnicodeError, requests.RequestException):
            self.unsent += 1
            return None
        self._judge(operation, owner, prepared, response)
        return response

    def fail(self, operation: str, fault: str, about: str) -> None:
        kind = f"{operation}: {fault[:160]}"
        self.failures[kind] += 1
        shown = self.examples.setdefault(kind, [])
        if len(shown) < _KEPT:
            path = self.folder / f"failure-{len(self.examples)}-{len(shown) + 1}.txt"
            path.write_text(f"{self.batch}\n{operation}\n{fault}\n\n{about}\n", "utf-8", "backslashreplace")
            shown.append(path.name)

    def _judge(
        self, operation: str, owner: str | None, prepared: requests.PreparedRequest, response: requests.Response
    ) -> None:
        self.answered[operation, response.status_code] += 1
        body = (
            prepared.body if isinstance(prepared.body, bytes) else str(prepared.body or "").encode("utf-8", "replace")
        )
        answer = Answer(
            prepared.method or "",
            prepared.path_url,
            f"{prepared.path_url} {prepared.headers} {body.decode('latin-1')}",
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            response.content,
        )
        self._note_change(owner, answer, response)
        for fault in find_faults(answer, self._codes, self.population.foreign_to(owner)):
            self.fail(operation, fault, describe(prepared, response))

    def _note_change(self, owner: str | None, answer: Answer, response: requests.Response) -> None:
        path = answer.path.partition("?")[0]
        if answer.method == "POST" and path == "/selections" and answer.status == 202 and owner is not None:
            self.population.note_accepted(owner, response.json(), "idempotent-replayed" in answer.headers)
        if answer.method == "DELETE" and answer.status == 204:
            self.population.note_deleted(path.rpartition("/")[2])


def describe(prepared: requests.PreparedRequest, response: requests.Response) -> str:
    """The request, to be sent again, and the answer."""
    headers = {name: value for name, value in prepared.headers.items() if name != "Connection"}
    body = prepared.body[:20_000] if prepared.body else b""
    return (
        f"{prepared.method} {prepared.url}\n{json.dumps(dict(headers), default=repr)}\n{body!r}\n\n"
        f"{response.status_code} {dict(response.headers)}\n{response.text[:3000]}"
    )


def _check_latin(prepared: requests.PreparedRequest) -> None:
    """
    Raises:
        UnicodeError: a header cannot be sent.
    """
    for value in prepared.headers.values():
        (value if isinstance(value, str) else value.decode("latin-1")).encode("latin-1")

"""What every answer must be, whatever the request was."""

import json
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tests.e2e.processes import ROOT

ID = re.compile(r"(?:sel|ds)_[0-9a-z]{26}")
_MEMBERS = {"type", "code", "title", "status", "detail", "instance", "request_id", "errors"}


@dataclass(frozen=True)
class Answer:
    """An answer, and what was asked."""

    method: str
    path: str  #: as sent
    asked: str  #: everything of the request that may be repeated
    status: int
    headers: Mapping[str, str]  #: names in lower case
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


def documented_codes() -> set[tuple[int, str]]:
    """Status and code of each refusal, as the table of docs/api.md lists them."""
    rows = re.findall(r"^\| (4\d\d|503) \| ((?:`[a-z-]+`(?:, )?)+) \|", (ROOT / "docs/api.md").read_text("utf-8"), re.M)
    found = {(int(status), code) for status, codes in rows for code in re.findall(r"`([a-z-]+)`", codes)}
    assert len(found) > 20
    return found


def find_faults(answer: Answer, codes: Set[tuple[int, str]], foreign: Set[str]) -> list[str]:
    """What is wrong with an answer. `foreign` are ids that belong to other owners."""
    faults = []
    if answer.status >= 500 and answer.status != 503:
        faults.append(f"status {answer.status}: {answer.text[:300]}")
    if answer.status >= 400:
        faults += _find_faults_of_problem(answer, codes)
    seen = set(ID.findall(answer.text)) - set(ID.findall(unquote(answer.asked)))
    if seen & foreign:
        faults.append(f"shows ids of another owner: {sorted(seen & foreign)[:3]}")
    if answer.status < 300 and any(one in unquote(answer.path) for one in foreign):
        faults.append("a request for the id of another owner was carried out")
    return faults


def _find_faults_of_problem(answer: Answer, codes: Set[tuple[int, str]]) -> Iterator[str]:
    if answer.headers.get("content-type") != "application/problem+json":
        yield f"refusal {answer.status} of type {answer.headers.get('content-type')}: {answer.text[:200]}"
        return
    if answer.method == "HEAD":
        return  # has no body
    try:
        problem: dict[str, Any] = json.loads(answer.content)
    except ValueError:
        yield f"refusal {answer.status} that is no JSON: {answer.text[:200]}"
        return
    if set(problem) != _MEMBERS:
        yield f"members of the problem are {sorted(problem)}"
        return
    code = str(problem["type"]).rpartition("/")[2]
    if (answer.status, code) not in codes:
        yield f"code {code!r} with status {answer.status} is not in docs/api.md"
    if problem["status"] != answer.status:
        yield f"the problem says {problem['status']}, the answer {answer.status}"
    if not problem["title"] or not problem["detail"]:
        yield "a problem without title or detail"
    if problem["request_id"] != answer.headers.get("x-request-id"):
        yield "request_id differs from X-Request-ID"
    if answer.status == 503 and "retry-after" not in answer.headers:
        yield "503 without Retry-After"

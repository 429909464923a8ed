"""Any value at any place of a request: nothing is a fault of the server, and a refusal names the place."""

import asyncio
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import app.pages
from tests.answered import make_answers
from tests.integration.conftest import Selections
from tests.integration.prompts_with_pools import make_finding_result
from tests.integration.samples import make_bag_of_words
from tests.integration.string_places import Operation, Request, describe_hidden, fill_forms, list_operations

TEMPLATES = Path(app.pages.__file__).parent / "templates"
_SHOWN = 20


@pytest.fixture
def client(make_client: Callable[..., TestClient]) -> TestClient:
    """Of a service that nobody fills."""
    return make_client(max_selections=None, max_owner_bytes=None)


class RawClient:
    """Sends headers byte for byte, and raises what the application raises, also after the beginning of an answer."""

    def __init__(self, app: Any) -> None:
        self._runner = asyncio.Runner()
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")

    def request(self, method: str, url: str, **about: Any) -> httpx.Response:
        return self._runner.run(self._http.request(method, url, **about))

    def close(self) -> None:
        self._runner.run(self._http.aclose())
        self._runner.close()


@pytest.fixture
def strict(client: TestClient) -> Iterator[RawClient]:
    made = RawClient(client.app)
    yield made
    made.close()


@pytest.fixture
def operations(client: TestClient, selections: Selections) -> list[Operation]:
    """All of the document, with the ids of one thing of each kind, all of which have ended."""
    result = make_finding_result().model_copy(update={"classifier": make_bag_of_words()})
    model = client.app.state.services.settings.default_model  # type: ignore[attr-defined]
    changes = {
        "provenance": result.provenance.model_copy(update={"model": model}),
        "test_answers": make_answers(rows=(5, 9), gold=(0, 1), support_examples=((0, 1), (1, 1)), classifier=(0, 0)),
    }
    selection_id = selections.succeeded(result.model_copy(update=changes).with_digest())
    known = {"selection_id": selection_id, "name": "triage", "row": "2"}
    put = client.put("/prompts/triage", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    assert put.status_code == 201, put.text
    known["dataset_id"] = client.get("/datasets").json()["items"][0]["id"]
    return list_operations(client.app.openapi(), known)  # type: ignore[attr-defined]


@pytest.fixture
def pages(client: TestClient, operations: list[Operation]) -> list[Operation]:
    """All routes that the document does not have."""
    return list_operations(describe_hidden(client.app.routes), operations[0].known)  # type: ignore[attr-defined]


def send(client: RawClient, request: Request) -> Any:
    return client.request(request.method, request.url, headers=dict(request.headers), content=request.content)


def list_faults(client: RawClient, requests: Iterable[Request]) -> list[str]:
    faults, is_empty = list[str](), True
    for request in requests:
        is_empty = False
        try:
            fault = find_fault(request, send(client, request))
        except Exception as error:  # noqa: BLE001 - of the application; the other requests are sent too
            fault = repr(error)
        if fault is not None:
            faults.append(f"{request}: {fault[:300]}")
    assert not is_empty, "the document has no such place"
    return faults


def find_fault(request: Request, answer: Any) -> str | None:
    """What is wrong with an answer; None if nothing is."""
    if answer.status_code >= 500:
        return f"{answer.status_code} {answer.text}"
    if "json" in answer.headers.get("content-type", "") and answer.content:
        body = answer.json()
        if answer.status_code in (400, 422):
            words = " ".join([body["detail"], *(one["detail"] + one["pointer"] for one in body["errors"])])
            if not any(place.lower() in words.lower() for place in request.places):
                return f"it is not named: {answer.text}"
    return None


def show(faults: list[str]) -> str:
    return "\n".join([f"{len(faults)} faults", *faults[:_SHOWN]])


def test_good_requests_are_taken(strict: RawClient, operations: list[Operation]) -> None:
    """Else the other tests would meet one refusal at each place, whatever they send."""
    refused = {
        f"{one.name} {kind}": answer.text
        for one in operations
        if one.takes_good_request
        for kind, request in one.good()
        if (answer := send(strict, request)).status_code >= 400
    }
    assert refused == {}


def test_any_value_of_a_body_is_taken_or_refused_by_its_name(strict: RawClient, operations: list[Operation]) -> None:
    faults = list_faults(strict, (request for one in operations for request in one.in_bodies()))
    assert not faults, show(faults)


def test_any_cell_header_and_key_of_a_file_is_taken_or_refused_by_its_name(
    strict: RawClient, operations: list[Operation]
) -> None:
    faults = list_faults(strict, (request for one in operations for request in one.in_files()))
    assert not faults, show(faults)


def test_any_header_is_taken_or_refused_by_its_name(strict: RawClient, operations: list[Operation]) -> None:
    faults = list_faults(strict, (request for one in operations for request in one.in_headers()))
    assert not faults, show(faults)


def test_any_path_and_query_is_taken_or_refused_by_its_name(
    strict: RawClient, operations: list[Operation], pages: list[Operation]
) -> None:
    sent = (request for one in operations for request in (*one.in_paths(), *one.in_queries()))
    # A page tells a person what to do, and has no names of parameters.
    of_pages = (replace(request, place="") for one in pages for request in (*one.in_paths(), *one.in_queries()))
    faults = list_faults(strict, itertools.chain(sent, of_pages))
    assert not faults, show(faults)


def test_any_field_of_a_page_is_taken_or_refused(strict: RawClient, pages: list[Operation]) -> None:
    names = {
        name for path in TEMPLATES.glob("*.html") for name in re.findall(r'(?<!meta )name="([\w.]+)"', path.read_text())
    }
    good = {"dataset_id": pages[0].known["dataset_id"], "row": "1", "current": "1", "version": "1", "input": "a"}
    fields = {**dict.fromkeys(sorted(names - {"key"}), ""), **good}
    posts = [one for one in pages if one.method == "POST" and not one.path.endswith(("/datasets", "/{action}"))]
    faults = list_faults(strict, fill_forms(posts, fields))
    assert not faults, show(faults)

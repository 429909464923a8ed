"""A service without API keys answers its own machine only."""

import pytest
from starlette.testclient import TestClient

from tests.api_keys import key_of
from tests.integration.conftest import MakeClient
from tests.integration.samples import make_submission, problem_of


def test_host_of_this_machine_is_answered(client: TestClient) -> None:
    for host in ("localhost", "localhost:8000", "LOCALHOST", "127.0.0.1:9", "[::1]", "[::1]:8000"):
        assert client.get("/selections", headers={"Host": host}).status_code == 200, host


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:x", "192.168.1.5:8000", ""])
def test_other_host_is_refused(client: TestClient, host: str) -> None:
    for path in ("/selections", "/models", "/readyz", "/docs", "/nowhere", "/pages/new", "/pages/assets/htmx.min.js"):
        body = problem_of(client.get(path, headers={"Host": host, "Accept": "text/html"}), 403, "not-local")
        assert "Host must be localhost" in body["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost"},
        {"Origin": "null"},
    ],
)
def test_form_of_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/pages/submit", data={"dataset_id": "ds_1"}, headers=headers).status_code == 403
    problem_of(client.post("/selections", json=make_submission(), headers=headers), 403, "not-local")
    assert client.get("/selections").json()["items"] == []


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}, {}])
def test_own_page_is_answered(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/selections", json=make_submission(), headers=headers).status_code == 202


def test_connection_to_another_address_is_refused_whatever_its_host_says(client: TestClient) -> None:
    outside = TestClient(client.app, base_url="http://192.168.1.5:8000")
    body = problem_of(outside.get("/models", headers={"Host": "localhost"}), 403, "not-local")
    assert "LENS_REQUIRE_KEYS" in body["detail"]


def test_service_that_requires_keys_has_any_host_and_is_not_open(make_client: MakeClient) -> None:
    outside = TestClient(make_client(require_keys=True).app, base_url="http://lens.example")
    assert outside.get("/healthz", headers={"Origin": "https://lens.example"}).status_code == 200
    problem_of(outside.get("/selections"), 401, "unauthorized")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer any key"}])
def test_open_service_says_that_it_checks_no_key(client: TestClient, headers: dict[str, str]) -> None:
    for answer in (client.get("/selections", headers=headers), client.get("/nowhere", headers=headers)):
        assert answer.headers["lens-authentication"] == "off"
    assert "lens-authentication" not in client.get("/healthz", headers=headers).headers


def test_service_that_checks_keys_does_not_say_otherwise(make_guarded: MakeClient) -> None:
    client = make_guarded("local")
    for key, status in ((key_of("local"), 200), ("any key", 401)):
        answer = client.get("/selections", headers={"Authorization": f"Bearer {key}"})
        assert (answer.status_code, "lens-authentication" in answer.headers) == (status, False)

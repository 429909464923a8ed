"""`/` and `/docs`: they need no other host, and no API key."""

import base64
import gc
import hashlib
import re
import weakref
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.main import close_app, create_app
from app.problems import TITLES
from app.settings import Settings


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A client without a key, of a service that has keys. The pages need neither Postgres nor Redis."""
    app = create_app(Settings(_env_file=None, require_keys=True))
    yield TestClient(app)
    close_app(app)


def test_docs_refer_to_no_other_host_and_all_assets_are_there(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", page.text) == []
    assets = re.findall(r"""(?:href|src)="([^"]+)"|url: '([^']+)'""", page.text)
    paths = [link or address for link, address in assets]
    assert "/openapi.json" in paths
    assert len(paths) == 4
    assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


def test_docs_run_their_own_script_and_no_other(client: TestClient) -> None:
    page = client.get("/docs")
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert len(scripts) == 1
    assert policy["script-src"].split() == ["'self'", *(f"'sha256-{digest}'" for digest in digests)]
    assert (policy["default-src"], policy["frame-ancestors"]) == ("'none'", "'none'")


def test_page_has_a_place_for_each_code_of_a_problem(client: TestClient) -> None:
    page = client.get("/docs").text
    for code, title in TITLES.items():
        assert f'<p id="{code}"><code>{code}</code>: {title}</p>' in page


def test_openapi_is_made_once_and_sent_to_those_who_lack_it(client: TestClient) -> None:
    first = client.get("/openapi.json")
    assert first.json()["openapi"].startswith("3.1")
    again = client.get("/openapi.json", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["x-content-type-options"] == "nosniff"


def test_docs_do_not_ask_the_validator_of_another_host(client: TestClient) -> None:
    assert '"validatorUrl": null' in client.get("/docs").text


def test_assets_of_the_docs_are_kept_by_browsers(client: TestClient) -> None:
    first = client.get("/docs/assets/swagger-ui-bundle.js")
    assert first.headers["cache-control"] == "public, max-age=86400"
    assert "SwaggerUIBundle" in first.text
    again = client.get("/docs/assets/swagger-ui-bundle.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/docs/assets/nothing.js", "/docs/assets/../../core.py", "/redoc"])
def test_other_files_are_not_served(client: TestClient, path: str) -> None:
    response = client.get(path.replace("..", "%2e%2e"))
    assert response.status_code in {401, 404}
    assert response.headers["content-type"] == "application/problem+json"


def test_pages_behind_a_proxy_refer_to_its_path() -> None:
    app = create_app(Settings(_env_file=None))
    client = TestClient(app, base_url="http://localhost", root_path="/lens")
    assert client.get("/lens/").json()["documentation"] == "/lens/docs"
    paths = re.findall(r"""(?:href|src)="([^"]+)"|url: '([^']+)'""", client.get("/lens/docs").text)
    assert all((link or address).startswith("/lens/") for link, address in paths)
    close_app(app)


def test_root_points_to_the_documentation(client: TestClient) -> None:
    body = client.get("/").json()
    assert (body["documentation"], body["openapi"]) == ("/docs", "/openapi.json")
    assert {client.get(body[name]).status_code for name in ("documentation", "openapi")} == {200}


def test_root_leads_a_browser_to_the_pages(client: TestClient) -> None:
    response = client.get("/", headers={"Accept": "text/html,*/*;q=0.8"}, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (307, "/pages/selections")


def test_service_that_has_ended_leaves_nothing_in_memory() -> None:
    # FastAPI remembers the functions of routes for the whole process. One that held its service held all of it.
    app = create_app(Settings(_env_file=None, require_keys=True))
    assert TestClient(app).get("/").status_code == 200
    close_app(app)
    watched = weakref.ref(app)
    del app
    gc.collect()
    assert watched() is None

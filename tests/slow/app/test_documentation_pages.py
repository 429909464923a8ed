"""`/` and `/docs`: they need no other host, and no API key."""

import gc
import re
import weakref
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.errors import TITLES
from app.main import close_app, create_app
from app.settings import Settings


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A client without a key, of a service that has keys. The pages need neither Postgres nor Redis."""
    app = create_app(Settings(_env_file=None, require_keys=True))
    yield TestClient(app)
    close_app(app)


def test_docs_list_each_operation_and_refer_to_no_other_host(client: TestClient) -> None:
    page, paths = client.get("/docs"), client.get("/openapi.json").json()["paths"]
    assert page.status_code == 200
    assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", page.text) == []
    assert re.findall(r"""(?:href|src)="([^"]+)\"""", page.text) == ["/openapi.json"]
    listed = re.findall(r"<tr><td>(\w+)<td><code>(.*?)</code>", page.text)
    assert listed == [(method.upper(), path) for path, operations in paths.items() for method in operations]


def test_docs_run_no_script(client: TestClient) -> None:
    page = client.get("/docs")
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert "<script" not in page.text
    assert "script-src" not in policy
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


def test_pages_behind_a_proxy_refer_to_its_path() -> None:
    app = create_app(Settings(_env_file=None))
    client = TestClient(app, base_url="http://localhost", root_path="/lens")
    assert client.get("/lens/").json()["documentation"] == "/lens/docs"
    assert re.findall(r"""href="([^"]+)\"""", client.get("/lens/docs").text) == ["/lens/openapi.json"]
    close_app(app)


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

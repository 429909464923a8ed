"""The site of the proxy of docker-compose.yml in a real nginx, in front of an API that is away."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from app.errors import TITLES
from app.web.openapi import Problem
from tests.compose.composition import read_yaml
from tests.e2e.waiting import until
from tests.ports import reserve_port

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx, a package of the system")


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[httpx.Client]:
    port, content = reserve_port(), read_yaml("docker-compose.yml")["configs"]["proxy"]["content"].replace("$$", "$")
    site = re.sub(r"(resolver|access_log) .*;", "", content)
    site = re.sub("rate=[0-9]+r/s", "rate=1r/s", site)  # a slow machine sends less than the real rates in a second
    site = site.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("api:8000", f"127.0.0.1:{reserve_port()}")
    paths = "".join(f"{name}_temp_path {tmp_path / name};" for name in ("client_body", "proxy"))
    config = tmp_path / "nginx.conf"
    config.write_text(f"pid {tmp_path}/pid; daemon off; events {{}} http {{ access_log off; {paths} {site} }}")
    with (
        subprocess.Popen(["nginx", "-c", str(config), "-e", str(tmp_path / "log")]) as nginx,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client,
    ):

        def is_up() -> bool:
            with suppress(httpx.TransportError):
                return client.get("/healthz").status_code == 503
            return False

        try:
            until(is_up, "nginx answers")
            yield client
        finally:
            nginx.terminate()


def check_problem(answer: httpx.Response, status: int, code: str, instance: str) -> None:
    """In the form of the service's own problems."""
    found = Problem.model_validate(answer.json())
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert (found.status, found.code, found.instance) == (status, code, instance)
    assert (found.type, found.title) == (f"/docs#{code}", TITLES[code])
    assert answer.headers["X-Request-ID"] == found.request_id


def test_proxy_refuses_in_the_form_of_the_service(proxy: httpx.Client) -> None:
    assert proxy.get("/healthz", headers={f"X-{number}": "x" * 4000 for number in range(30)}).status_code == 400
    check_problem(proxy.post("/selections?x=%22", content=bytes(52 * 2**20)), 413, "content-too-large", "/selections")
    answer = proxy.get('/a"b', headers={"X-Request-ID": "mine-1"})
    check_problem(answer, 503, "unavailable", "/a%22b")
    assert (answer.headers["Retry-After"], answer.json()["request_id"]) == ("5", "mine-1")


def test_proxy_bounds_the_requests_of_a_key_and_of_an_address(proxy: httpx.Client) -> None:
    too_many, away = (429, "too-many-requests", "1"), (503, "unavailable", "5")
    for keys, expected in ((["one"] * 300, too_many), (["another"], away), (map(str, range(1_000)), too_many)):
        last = [proxy.get("/selections", headers={"Authorization": f"Bearer {key}"}) for key in keys][-1]
        check_problem(last, *expected[:2], "/selections")
        assert last.headers["Retry-After"] == expected[2]

"""A browser and a service for all tests of the pages; tab, workers and rows are each test's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from lens_cli.service.embedded import EmbeddedServers
from tests.browser.chromium import require_programs, running_chromium
from tests.browser.page import Page
from tests.e2e.service import clear, running_service
from tests.e2e.stack import Stack
from tests.integration.conftest import Selections


@pytest.fixture(scope="session")
def chromium_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_programs()
    return tmp_path_factory.mktemp("chromium")


@pytest.fixture(scope="session")
def chromium(chromium_folder: Path) -> Iterator[Chrome]:
    with running_chromium(chromium_folder) as running:
        yield running


@pytest.fixture(scope="package")
def service(
    chromium_folder: Path,  # noqa: ARG001 - no server is started where there is no browser
    servers: EmbeddedServers,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    """The API without keys."""
    with running_service(servers, tmp_path_factory.mktemp("service"), queue_name="browser") as running:
        yield running


@pytest.fixture
def lens(service: Stack) -> Iterator[Stack]:
    """The service with nothing in it; whatever the test leaves is cleared away after it."""
    clear(service)
    yield service
    clear(service)


@pytest.fixture
def stage(lens: Stack) -> Selections:
    """Brings selections into a state without a worker: a warm one would claim them first."""
    lens.cool()
    return Selections(lens.client, lens.database)  # type: ignore[arg-type]  # both clients speak alike


@pytest.fixture
def host(lens: Stack) -> str:
    """Where the pages are."""
    return str(lens.client.base_url).rstrip("/")


@pytest.fixture
def tab(chromium: Chrome, chromium_folder: Path, host: str) -> Iterator[Page]:
    """A new tab of 1200 x 900 pixels, in which no page is open. Scripts must not fail in it, nor leave the host."""
    before = chromium.current_window_handle
    chromium.switch_to.new_window("tab")
    made = Page(chromium, host, chromium_folder / "downloads")
    chromium.execute_cdp_cmd("Browser.resetPermissions", {})
    made.resize(1200)
    made.prefer("light")
    made.take_log()
    made.take_traffic("")
    yield made
    faults = [one for one in made.take_log() if not _is_about_an_outage(one)]
    asked = {one["request"]["url"] for one in made.take_traffic("Network.requestWillBeSent")}
    chromium.close()
    chromium.switch_to.window(before)
    assert faults == []
    assert {url for url in asked if not url.startswith((f"{made.host}/", "data:", "blob:"))} == set()


def _is_about_an_outage(entry: dict[str, Any]) -> bool:
    """A refusal, or a connection that was cut, which browser and htmx note by themselves."""
    is_of_htmx = entry["source"] == "console-api" and "htmx.min.js" in entry["message"]
    cut = ("Failed to fetch", "network error")
    return entry["source"] == "network" or (is_of_htmx and any(one in entry["message"] for one in cut))

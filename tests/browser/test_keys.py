"""A service with keys: the page asks once for each tab, and forgets with it."""

import hashlib
from collections.abc import Iterator

import pytest
from selenium.webdriver import Keys

from tests.browser.page import Page
from tests.e2e.processes import Process, start_api
from tests.e2e.stack import Stack, environment_of
from tests.integration.samples import make_submission

KEY = "a key of the tests"


@pytest.fixture(scope="module")
def guarded(service: Stack) -> Iterator[str]:
    """The address of a second API, which asks for a key."""
    port = reserve_port()
    keys = environment_of({"api_keys": {hashlib.sha256(KEY.encode()).hexdigest(): "alice"}})
    api = start_api({**service.environment, **keys}, port, service.log_dir / "guarded.log")
    yield f"http://127.0.0.1:{port}"
    api.stop()

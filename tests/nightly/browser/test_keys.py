"""A service with keys: the page asks once for each tab, and forgets with it."""

from collections.abc import Iterator

import httpx
import pytest

from tests.api_keys import headers_of, key_of, make_keys
from tests.browser.page import Page
from tests.e2e.processes import start_api
from tests.e2e.service import clear
from tests.e2e.stack import Stack, make_submission
from tests.integration.conftest import run_sql
from tests.ports import reserve_port

KEY = key_of("alice")


@pytest.fixture(scope="module")
def guarded(service: Stack) -> Iterator[str]:
    """The address of a second API, which asks for a key."""
    clear(service)
    make_keys(service.database, "alice")
    port = reserve_port()
    api = start_api(service.environment, port, service.log_dir / "guarded.log")
    yield f"http://127.0.0.1:{port}"
    api.stop()
    clear(service)


@pytest.fixture
def host(guarded: str) -> str:
    return guarded


def enter_key(tab: Page, key: str) -> None:
    tab.fill_in("API key", key)
    tab.press_button("Use this key in this tab")


def test_key_is_asked_for_once_in_a_tab(tab: Page) -> None:
    tab.open("/pages/selections")
    tab.see("This service asks for an API key.")
    enter_key(tab, KEY)
    tab.see("Which texts should be sorted?")
    tab.see_no_more("API key")

    tab.follow("In production")
    tab.see("Nothing is in production yet.")
    tab.reload()
    tab.see("Nothing is in production yet.")

    tab.driver.switch_to.new_window("tab")
    tab.open("/pages/selections")
    tab.see("This service asks for an API key.")
    tab.driver.close()
    tab.driver.switch_to.window(tab.driver.window_handles[-1])


def test_unknown_key_is_refused_and_can_be_mended(tab: Page) -> None:
    tab.open("/pages/prompts")
    enter_key(tab, "another key")
    tab.see("The service knows no such key.")
    assert (tab.driver.title, tab.find("//h1").text) == ("API key · Lens", "API key")
    tab.wait(lambda: tab.focused.get_attribute("id") == "key", "the field for the key has the focus")
    assert tab.find_all("//button[.='Forget the key']") == [], "a wrong key is kept"

    enter_key(tab, KEY)

    tab.see("Nothing is in production yet.")
    assert tab.focused.get_attribute("id") == "main", "the focus is lost with the field"


def test_key_can_be_forgotten(tab: Page) -> None:
    tab.open("/pages/selections")
    tab.find("//input[@id='key']")
    assert tab.find_all("//button[.='Forget the key']") == []
    enter_key(tab, KEY)
    tab.see("Which texts should be sorted?")

    tab.press_button("Forget the key")

    tab.see("This service asks for an API key.")
    assert tab.run("return sessionStorage.length + localStorage.length + document.cookie.length") == 0


def test_form_for_the_key_stays_while_a_run_would_be_followed(tab: Page, service: Stack) -> None:
    made = httpx.post(f"{tab.host}/selections", json=make_submission(), headers=headers_of("alice"))
    tab.open(f"/pages/selections/{made.json()['id']}")
    enter_key(tab, KEY)
    tab.see("It waits")
    run_sql(service.database, "UPDATE api_keys SET revoked_at = now()")
    tab.see("The service knows no such key.")

    tab.fill_in("API key", KEY)
    tab.run("setTimeout(() => { window.isLater = true }, 5000)")
    tab.wait(lambda: tab.run("return window.isLater"), "a page that polls would have asked twice")

    assert tab.field("API key").get_attribute("value") == KEY
    run_sql(service.database, "UPDATE api_keys SET revoked_at = NULL")
    run_sql(service.database, "DELETE FROM jobs")

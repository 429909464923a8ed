"""A selection is followed on its page through faults: the page says what happens, and recovers by itself."""

from collections.abc import Iterator

import pytest

from tests.browser.page import Page
from tests.e2e.stack import IN_THE_SEARCH, Stack
from tests.outages import absent


@pytest.fixture
def followed(tab: Page, lens: Stack) -> Iterator[Page]:
    """The page of a selection whose run is held in its search. It must not be loaded again."""
    lens.hold_from(IN_THE_SEARCH)
    lens.start_worker()
    selection_id = lens.submit()
    tab.open(f"/pages/selections/{selection_id}")
    tab.run("window.isSamePage = true")
    tab.see("Running.")
    tab.see("Search · now")
    yield tab
    lens.let_go()
    tab.see("What to use")
    assert tab.run("return window.isSamePage"), "the page was loaded again"
    lens.check_invariants()


def test_page_waits_for_the_api(followed: Page, lens: Stack) -> None:
    lens.stop_api()
    followed.see("The service does not answer. This page tries again by itself; nothing that runs is lost.")

    lens.start_api()

    followed.see_no_more("The service does not answer.")


def test_page_waits_for_the_database(followed: Page, lens: Stack) -> None:
    with absent(lens.settings):
        followed.see("the API keys cannot be checked now")  # from when on the problem stays the same
        followed.run("document.getElementById('problem').firstChild.isSame = true")
        followed.take_traffic("")
        count = "return performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/live')).length"
        before = followed.run(count)
        followed.wait(lambda: followed.run(count) > before + 1, "the page asks again")
        assert followed.run("return document.getElementById('problem').firstChild.isSame"), "it is said again"
    followed.see_no_more("The service is temporarily unavailable")


def test_page_that_is_opened_while_the_database_is_away_comes_later(tab: Page, lens: Stack) -> None:
    with absent(lens.settings):
        tab.open("/pages/selections")
        tab.see("The service is temporarily unavailable")
    tab.see("Which texts should be sorted?")
    tab.see_no_more("The service is temporarily unavailable")

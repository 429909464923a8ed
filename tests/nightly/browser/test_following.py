"""A selection is followed on its page through faults: the page says what happens, and recovers by itself."""

from collections.abc import Iterator

import pytest

from lens_cli.service.embedded import EmbeddedServers
from tests.browser.page import Page
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.integration.conftest import Selections
from tests.outages import absent, hung_redis


@pytest.fixture
def followed(tab: Page, lens: Stack) -> Iterator[Page]:
    """The page of a selection whose run is held in its search. It must not be loaded again."""
    lens.hold_from(IN_THE_SEARCH)
    lens.start_worker()
    selection_id = lens.submit()
    tab.open(f"/pages/selections/{selection_id}")
    tab.run("window.isSamePage = true")
    tab.see("Searching.")
    tab.see("Improve the best sets · now, step 2 of 3")
    yield tab
    lens.let_go()
    tab.see("What to use")
    assert tab.run("return window.isSamePage"), "the page was loaded again"
    lens.check_invariants()


def test_killed_work_horse_is_told_and_replaced(followed: Page, lens: Stack) -> None:
    lens.workers[0].wait_for_horse().kill()

    followed.see("The worker of attempt 1 ended in the middle. It is queued again.")
    followed.see("Attempt 2 goes on from")


def test_killed_worker_is_told_and_another_takes_over(followed: Page, lens: Stack) -> None:
    lens.workers[0].kill()
    followed.see("Its worker ended in the middle; it goes on from")

    lens.start_worker()

    followed.see("Attempt 2 goes on from")


def test_page_waits_for_the_api(followed: Page, lens: Stack) -> None:
    lens.stop_api()
    followed.see("The service does not answer. This page tries again by itself; nothing that runs is lost.")

    lens.start_api()

    followed.see_no_more("The service does not answer.")


def test_page_waits_for_the_database(followed: Page, lens: Stack) -> None:
    with absent(lens.settings):
        followed.see("The service is temporarily unavailable")
        followed.run("document.getElementById('problem').firstChild.isSame = true")
        followed.take_traffic("")
        count = "return performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/live')).length"
        before = followed.run(count)
        followed.wait(lambda: followed.run(count) > before + 1, "the page asks again")
        assert followed.run("return document.getElementById('problem').firstChild.isSame"), "it is said again"
    followed.see_no_more("The service is temporarily unavailable")


def test_run_without_news_is_not_sent_again(followed: Page) -> None:
    followed.take_traffic("")

    def list_polls() -> list[int]:
        answers = [one["response"] for one in followed.take_traffic("Network.responseReceived")]
        return [one["status"] for one in answers if one["url"].endswith("/live")]

    followed.wait(lambda: 304 in list_polls(), "a poll is answered by 304")


def test_page_that_is_opened_while_the_database_is_away_comes_later(tab: Page, lens: Stack) -> None:
    with absent(lens.settings):
        tab.open("/pages/selections")
        tab.see("The service is temporarily unavailable")
    tab.see("Nothing here yet")
    tab.see_no_more("The service is temporarily unavailable")


def test_page_tells_that_redis_is_away(tab: Page, stage: Selections, servers: EmbeddedServers) -> None:
    tab.open(f"/pages/selections/{stage.queued()}")
    tab.see("no worker is running")

    with hung_redis(servers):
        tab.see("Redis does not answer, so nobody can say where it stands; it is stored, and starts later.")
    tab.see("no worker is running")


def test_result_is_loaded_once(followed: Page, lens: Stack) -> None:
    followed.take_traffic("")
    lens.let_go()
    followed.see("How the search went")
    followed.run("document.getElementById('input').value = 'half a sentence'")
    lens.wait_until_done(followed.path.rpartition("/")[2])

    answers = [one["response"]["headers"] for one in followed.take_traffic("Network.responseReceived")]
    assert len([one for one in answers if one.get("hx-retarget") == "#main"]) == 1

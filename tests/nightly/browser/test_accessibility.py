"""axe-core objects to nothing above `minor`, and no page is wider than its window."""

import pytest

from tests.browser.axe import find_faults
from tests.browser.page import Page
from tests.browser.states import STATES, fill_in, show
from tests.integration.conftest import Selections


@pytest.mark.parametrize("name", STATES)
def test_page_is_for_everybody(tab: Page, stage: Selections, name: str) -> None:
    show(tab, STATES[name](stage))
    assert find_faults(tab) == []


def test_problem_is_for_everybody(tab: Page, stage: Selections) -> None:
    show(tab, fill_in(stage))
    tab.fill_in("How each example is written", "{text}")
    tab.press_button("Start the selection")
    tab.find("//*[@id='problem'][string()]")
    assert find_faults(tab) == []


def test_page_that_is_away_is_for_everybody(tab: Page) -> None:
    tab.open("/pages/selections")
    tab.see("Which texts should be sorted?")
    tab.run("document.getElementById('away').hidden = false")
    assert find_faults(tab) == []

"""axe-core objects to nothing above `minor`, and no page is wider than its window."""

import pytest

from tests.browser.axe import find_violations
from tests.browser.page import Page
from tests.browser.states import STATES, fill_in, show
from tests.integration.conftest import Selections

LOOKS = ((1200, "light"), (360, "dark"))
"""Widths of the window (pixels) and colour schemes. Every page has two of the four."""


def find_faults(tab: Page) -> list[str]:
    faults = []
    for width, scheme in LOOKS:
        tab.resize(width)
        tab.prefer(scheme)
        faults += [f"{width} px, {scheme}: {one}" for one in find_violations(tab)]
        needed = tab.run("return document.scrollingElement.scrollWidth")
        faults += [f"{width} px: the page needs {needed} px"] * (needed > width)
    return faults


@pytest.mark.parametrize("name", STATES)
def test_page_is_for_everybody(tab: Page, stage: Selections, name: str) -> None:
    show(tab, STATES[name](stage))
    assert find_faults(tab) == []


def test_problem_is_for_everybody(tab: Page, stage: Selections) -> None:
    show(tab, fill_in(stage))
    tab.fill_in("Template", "{text}")
    tab.press_button("Start the selection")
    tab.find("//*[@id='problem'][string()]")
    assert find_faults(tab) == []


def test_page_that_is_away_is_for_everybody(tab: Page) -> None:
    tab.open("/pages/selections")
    tab.see("There is none yet.")
    tab.run("document.getElementById('away').hidden = false")
    assert find_faults(tab) == []

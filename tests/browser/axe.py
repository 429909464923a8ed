"""axe-core, run in the page that the browser shows."""

from functools import cache
from importlib.resources import files
from typing import Any

from tests.browser.page import Page

_RUN = "axe.run(document, {resultTypes: ['violations']}).then(arguments[0], error => arguments[0](String(error)))"


LOOKS = ((1200, "light"), (360, "dark"))
"""Widths of the window (pixels) and colour schemes. Every page has two of the four."""


@cache
def _script() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def _find_violations(page: Page) -> list[str]:
    """What axe-core objects to above `minor`, a line for each element: rule, impact, element."""
    page.run(_script())
    found: Any = page.driver.execute_async_script(_RUN)  # type: ignore[no-untyped-call]
    assert isinstance(found, dict), found
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]} {node.get('failureSummary', '')}"
        for rule in found["violations"]
        if rule["impact"] != "minor"
        for node in rule["nodes"]
    ]


def find_faults(tab: Page) -> list[str]:
    """What axe-core objects to in each look of the page, and widths that the page is too wide for."""
    faults = []
    for width, scheme in LOOKS:
        tab.resize(width)
        tab.prefer(scheme)
        faults += [f"{width} px, {scheme}: {one}" for one in _find_violations(tab)]
        needed = tab.run("return document.scrollingElement.scrollWidth")
        faults += [f"{width} px: the page needs {needed} px"] * (needed > width)
    return faults

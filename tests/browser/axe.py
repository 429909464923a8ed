"""axe-core, run in the page that the browser shows."""

from functools import cache
from importlib.resources import files
from typing import Any

from tests.browser.page import Page

_RUN = "axe.run(document, {resultTypes: ['violations']}).then(arguments[0], error => arguments[0](String(error)))"


@cache
def _script() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def find_violations(page: Page) -> list[str]:
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

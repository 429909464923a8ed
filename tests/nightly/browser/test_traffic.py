"""What the browser asks for: little, of this host alone, and nothing that its policy refuses."""

import pytest

from tests.browser.page import Page
from tests.browser.states import STATES, show, succeed
from tests.integration.conftest import Selections
from tests.integration.samples import SMALL_OPTIONS

MOST_BYTES = 300_000
"""Of a page with its scripts and styles, headers included, over a new connection."""

MARKUP = "<img src=x onerror='document.title=1'><script>document.title=1</script><p hx-get='/pages/prompts'>"


@pytest.mark.parametrize("name", ["list", "new", "running", "result"])
def test_page_is_small_and_leaves_the_console_empty(tab: Page, stage: Selections, name: str) -> None:
    state = STATES[name](stage)
    tab.driver.execute_cdp_cmd("Network.clearBrowserCache", {})

    show(tab, state)

    sizes = [one["encodedDataLength"] for one in tab.take_traffic("Network.loadingFinished")]
    assert sum(sizes) < MOST_BYTES
    assert len(sizes) >= 6, "the frame, its content, two styles and two scripts"
    assert tab.take_log() == []


def test_policy_allows_scripts_and_styles_of_the_host_alone(tab: Page, stage: Selections) -> None:
    tab.open(succeed(stage).path)

    answers = [one["response"] for one in tab.take_traffic("Network.responseReceived")]
    frame = {name.lower(): value for name, value in answers[0]["headers"].items()}
    assert frame["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in frame["content-security-policy"]
    tab.run(
        "const one = document.createElement('script'); one.text = 'window.isHacked = true'; document.body.append(one)"
    )
    assert tab.run("return window.isHacked") is None
    assert [one["source"] for one in tab.take_log()] == ["security"]


def test_markup_in_texts_is_shown_and_not_obeyed(tab: Page, stage: Selections) -> None:
    rows = [{"text": f"{MARKUP} {number}", "label": f"{MARKUP} {number % 2}"} for number in range(40)]
    body = {"spec": {"name": MARKUP, "options": SMALL_OPTIONS}, "examples": rows}
    response = stage.client.post("/selections", json=body)
    assert response.status_code == 202, response.text
    job = response.json()

    for path in (f"/pages/new?dataset={job['dataset_id']}", "/pages/selections", f"/pages/selections/{job['id']}"):
        tab.open(path)
        if "new" in path:
            tab.unfold("How the file was read")
            tab.unfold("How the model is asked")
        tab.see(MARKUP)
        assert tab.run("return document.querySelectorAll('main img, main script, main [hx-get*=names]').length") == 0
    tab.open("/pages/selections/sel_<img src=x onerror=alert(1)>")
    tab.find("//*[@id='problem'][string()]")
    assert tab.run("return document.querySelectorAll('img').length") == 0

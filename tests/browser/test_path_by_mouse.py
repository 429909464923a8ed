"""From an empty machine to a prompt in production, by mouse."""

import json
from pathlib import Path

import pytest

from tests.browser.page import Page
from tests.e2e.stack import OPTIONS, Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.integration.conftest import Selections

TRAIN = Path(__file__).parents[2] / "examples" / "support_desk" / "train.csv"


def test_path_from_a_file_to_production(tab: Page, lens: Stack) -> None:
    lens.warm_worker()
    lens.hold_from(IN_THE_SEARCH)
    tab.open("/")
    tab.see("There is none yet. Begin with a file of labelled texts")
    tab.follow("New selection")
    tab.drop_file("Labelled texts", TRAIN)
    tab.press_button("Look at the file")

    tab.see("480 rows, 4 labels")
    tab.see("right is the word of “delivery”")
    tab.fill_in("Row", "3")
    tab.fill_in("Word of technical", "device")
    tab.see("right is the word of “technical”")
    tab.fill_in("Name", "desk")
    tab.unfold("Model and options")
    tab.fill_in("Further options, as JSON", json.dumps(OPTIONS))
    tab.press_button("Start the selection")

    tab.see("Search: best accuracy on the validation rows so far")
    tab.see("A worker runs it.")
    tab.see("Round 1: 8 candidates left")
    tab.run("window.isSamePage = true")
    lens.let_go()
    tab.see("What to use")
    assert tab.run("return window.isSamePage"), "the page was loaded again"
    tab.see("How the search went")

    selection_id = tab.path.rpartition("/")[2]
    spec = lens.scalar("SELECT spec FROM jobs WHERE id = :id", id=selection_id)
    assert dict(spec["verbalizer"])["technical"] == "device"
    cell = tab.find("//table[@class='matrix']//button")
    rows, gold, answer = cell.text.split()[0], *cell.text.replace("answered", "").split()[-2:]
    cell.click()
    tab.see(f"Rows of {gold} answered {answer}: {rows}")

    tab.fill_in("Try a text", "my <b>lamp</b> is broken")
    tab.press_button("Show the prompt")
    tab.see("The model answers with one of: delivery, account, billing, device.")
    tried = tab.find("//pre[@id='tried-prompt']").get_attribute("textContent")
    body = {"input": "my <b>lamp</b> is broken"}
    assert tried == lens.client.post(f"/selections/{selection_id}/render", json=body).json()["prompts"][0]["prompt"]
    tab.press_button("Copy the prompt")
    tab.press_button("Copied")

    tab.follow("Prompt as text")
    exported = lens.client.get(f"/selections/{selection_id}/export?format=text")
    assert tab.wait_for_download("desk-prompt.txt") == exported.content
    tab.fill_in("Name that production asks for", "support-desk")
    tab.fill_in("Why (optional)", "the first")
    tab.press_button("Let this name say it")
    tab.see("It says version 1, of this selection")
    assert lens.client.get("/prompts/support-desk").json()["selection_id"] == selection_id


def test_name_goes_forward_and_back(tab: Page, lens: Stack, stage: Selections) -> None:
    first, second = stage.succeeded(), stage.succeeded()
    for selection_id in (first, second):
        tab.open(f"/pages/selections/{selection_id}")
        tab.fill_in("Name that production asks for", "films")
        tab.press_button("Let this name say it")
        if selection_id == second:
            tab.see("films is in production. It says version 1, of another selection")
            assert lens.client.get("/prompts/films").json()["selection_id"] == first
            tab.wait(lambda: "is in production" in tab.focused.text, "what is asked has the focus")
            tab.press_button("Replace version 1 of films")
        tab.see("of this selection")
    tab.follow("Names")
    tab.see("What each name says now")
    tab.follow("films")
    tab.see("It says version 2, of this selection")

    tab.press_button("Go back to version 1")
    tab.confirm()

    tab.see("It says version 3, of this selection")
    tab.see("back to version 1")
    assert lens.client.get("/prompts/films").json()["selection_id"] == first


def test_two_selections_are_seen_side_by_side(tab: Page, stage: Selections) -> None:
    for _ in range(2):
        stage.succeeded()
    stage.queued()
    stage.cancelled()
    tab.open("/pages/selections")
    names = [box.accessible_name for box in tab.find_checkboxes() if box.is_enabled()]
    assert len(names) == 2, "a selection without a result can be marked"
    show = tab.find("//button[.='Show both side by side']")
    enabled = [show.is_enabled()]
    for box in tab.find_checkboxes()[2:]:
        box.click()
        enabled.append(show.is_enabled())
    assert enabled == [False, False, True]

    tab.press_button("Show both side by side")

    tab.see("Two selections side by side")
    tab.see("first · label probabilities")
    tab.see("second · label probabilities")


def test_deleted_selection_is_gone(tab: Page, stage: Selections) -> None:
    selection_id = stage.succeeded()
    tab.open(f"/pages/selections/{selection_id}")

    tab.press_button("Delete")
    tab.confirm()

    tab.see("There is none yet.")
    assert stage.client.get(f"/selections/{selection_id}").status_code == 404


@pytest.mark.parametrize(("setting", "says"), [("granted", "Copied"), ("denied", "Selected: copy it by keyboard")])
def test_prompt_is_copied_or_selected(tab: Page, stage: Selections, setting: str, says: str) -> None:
    permission = {"permission": {"name": "clipboard-write"}, "setting": setting, "origin": tab.host}
    tab.driver.execute_cdp_cmd("Browser.setPermission", permission)
    tab.open(f"/pages/selections/{stage.succeeded()}")
    tab.fill_in("Try a text", "a warm film")
    tab.press_button("Show the prompt")

    tab.press_button("Copy the prompt")

    tab.see(says)
    tried = tab.find("//pre[@id='tried-prompt']").get_attribute("textContent")
    assert tab.run("return String(getSelection())") == (tried if setting == "denied" else "")


def test_run_is_cancelled_resumed_and_ends(tab: Page, lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    lens.warm_worker()
    selection_id = lens.submit()
    tab.open(f"/pages/selections/{selection_id}")
    tab.see("Search better permutations, step")

    tab.press_button("Cancel")
    tab.confirm()
    tab.see("The run is asked to stop")
    lens.let_go()
    tab.see("It was cancelled.")
    tab.press_button("Resume")

    tab.see("What to use")
    tab.see("succeeded")

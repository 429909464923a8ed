"""From an empty machine to a prompt in production, by mouse."""

import json
from pathlib import Path

import pytest
from selenium.webdriver import Keys

from tests.browser.page import Page
from tests.e2e.stack import IN_THE_SEARCH, OPTIONS, Stack
from tests.integration.conftest import Selections

TRAIN = Path(__file__).parents[2] / "examples" / "support_desk" / "train.csv"


def test_path_from_a_file_to_production(tab: Page, lens: Stack) -> None:
    lens.warm_worker()
    lens.hold_from(IN_THE_SEARCH)
    tab.open("/")
    tab.see("Which texts should be sorted?")
    tab.follow("Begin with a file")
    tab.drop_file("Labelled texts", TRAIN)

    tab.see("480 rows, 4 labels")
    tab.unfold("How the model is asked")
    tab.see("(should be: delivery)")
    tab.fill_in("Preview with row", "4")
    tab.fill_in("Word of technical", "device")
    tab.see("(should be: technical)")
    tab.unfold("Name, model and options")
    tab.fill_in("Name", "desk")
    tab.fill_in("Further options, as JSON", json.dumps(OPTIONS))
    tab.press_button("Start the selection")

    tab.see("Running.")
    tab.see("Search · now")
    tab.run("window.isSamePage = true")
    lens.let_go()
    tab.see("What to use")
    assert tab.run("return window.isSamePage"), "the page was loaded again"

    selection_id = tab.path.rpartition("/")[2]
    spec = lens.scalar("SELECT spec FROM jobs WHERE id = :id", id=selection_id)
    assert dict(spec["verbalizer"])["technical"] == "device"
    cell = tab.find("//table[@class='matrix']//button")
    rows, gold, answer = cell.text.split()[0], *cell.text.replace("answered", "").split()[-2:]
    cell.click()
    tab.see(f"Texts of {gold} answered {answer}: {rows}")

    lens.start_answers()
    tab.fill_in("A text of yours", "my <b>lamp</b> is broken")
    tab.press_button("Answer")
    tab.see("% · by the")
    tab.press_button("Show its prompt")
    tab.see("The model answers with one of: delivery, account, billing, device.")
    tried = tab.find("//pre[@id='tried-prompt']").get_attribute("textContent")
    body = {"input": "my <b>lamp</b> is broken"}
    assert tried == lens.client.post(f"/selections/{selection_id}/render", json=body).json()["prompts"][0]["prompt"]
    tab.press_button("Copy this prompt")
    tab.press_button("Copied")

    if tab.find_all("//details[not(@open)]/summary[normalize-space()='The prompt']"):
        tab.unfold("The prompt")
    tab.follow("Text")
    exported = lens.client.get(f"/selections/{selection_id}/export?format=text")
    assert tab.wait_for_download("desk-prompt.txt") == exported.content
    tab.fill_in("Name of the prompt", "Support Desk")
    tab.fill_in("What changed (optional)", "the first")
    tab.press_button("Put into production")
    tab.see("Version 1 is live")
    assert lens.client.get("/prompts/support-desk").json()["selection_id"] == selection_id


def test_name_goes_forward_and_back(tab: Page, lens: Stack, stage: Selections) -> None:
    first, second = stage.succeeded(), stage.succeeded()
    for selection_id in (first, second):
        tab.open(f"/pages/selections/{selection_id}")
        tab.fill_in("Name of the prompt", "films")
        tab.press_button("Put into production")
        if selection_id == second:
            tab.see("Replace version 1 of films?")
            assert lens.client.get("/prompts/films").json()["selection_id"] == first
            tab.wait(lambda: "Replace version 1" in tab.focused.text, "what is asked has the focus")
            tab.press_button("Replace version 1 of films")
        tab.see("is live")
    tab.follow("In production")
    tab.see("Programs ask for a name")
    tab.follow("films")
    tab.see("Version 2 is live")

    tab.press_button("Go back to version 1 …")
    tab.see("What changes")
    assert lens.client.get("/prompts/films").json()["version"] == 2
    tab.press_button("Go back to version 1")

    tab.see("Version 3 is live")
    tab.see("back to version 1")
    assert lens.client.get("/prompts/films").json()["selection_id"] == first


def test_file_that_is_read_has_the_focus_and_a_limit_bounds_the_time(tab: Page) -> None:
    tab.open("/pages/new")
    tab.drop_file("Labelled texts", TRAIN)
    tab.wait(lambda: tab.focused.text == "Your file: train.csv", "what was read has the focus")
    rows = tab.focused.get_attribute("aria-describedby")
    tab.wait(
        lambda: tab.find(f"//*[@id='{rows}']").text.startswith("480 rows, 4 labels: "), "the size is what describes it"
    )

    tab.find("//label[contains(., 'Standard')]").click()
    tab.unfold("Name, model and options")
    tab.fill_in("Stop after seconds", "60")
    tab.press(Keys.TAB)
    tab.see("about 1 minute")
    assert tab.run("return document.querySelector('[name=preset]:checked').value") == "standard"


def test_two_selections_are_seen_side_by_side(tab: Page, stage: Selections) -> None:
    for _ in range(2):
        stage.succeeded()
    stage.queued()
    stage.cancelled()
    tab.open("/pages/selections")
    assert len(tab.find_checkboxes()) == 2, "a selection without a result can be marked"
    show = tab.find("//button[.='Compare two']")
    enabled = [show.is_enabled()]
    for box in tab.find_checkboxes():
        box.click()
        enabled.append(show.is_enabled())
    assert enabled == [False, False, True]

    tab.press_button("Compare two")

    tab.see("The baseline is the older one")


def test_deleted_selection_is_gone(tab: Page, stage: Selections) -> None:
    selection_id = stage.succeeded()
    tab.open(f"/pages/selections/{selection_id}")

    tab.press_button("Delete")
    tab.confirm()

    tab.see("Which texts should be sorted?")
    assert stage.client.get(f"/selections/{selection_id}").status_code == 404


@pytest.mark.parametrize(("setting", "says"), [("granted", "Copied"), ("denied", "Selected: copy it by keyboard")])
def test_prompt_is_copied_or_selected(tab: Page, stage: Selections, setting: str, says: str) -> None:
    permission = {"permission": {"name": "clipboard-write"}, "setting": setting, "origin": tab.host}
    tab.driver.execute_cdp_cmd("Browser.setPermission", permission)
    tab.open(f"/pages/selections/{stage.succeeded()}")
    tab.fill_in("A text of yours", "a warm film")
    tab.press_button("Show its prompt")

    tab.press_button("Copy this prompt")

    tab.see(says)
    tried = tab.find("//pre[@id='tried-prompt']").get_attribute("textContent")
    assert tab.run("return String(getSelection())") == (tried if setting == "denied" else "")


def test_run_is_cancelled_resumed_and_ends(tab: Page, lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    lens.warm_worker()
    selection_id = lens.submit()
    tab.open(f"/pages/selections/{selection_id}")
    tab.see("Search · now")

    tab.press_button("Stop")
    tab.confirm()
    tab.see("It is asked to stop")
    tab.see("You stopped it")
    lens.let_go()
    tab.press_button("Resume")

    tab.see("What to use")
    tab.see("succeeded")


def test_texts_to_label_next_are_listed(tab: Page, stage: Selections, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("\ufeffNr;text\n7;the gas bill is late\n8;=1+1\n")
    tab.open(f"/pages/selections/{stage.succeeded()}")
    tab.drop_file("Drop a file with texts without labels here, or choose one", tmp_path / "new.csv")
    tab.see("2 of 2 different texts")
    tab.see("(at random)")
    tab.follow("Download the texts to label")
    written = tab.wait_for_download("label-next.csv").decode()
    assert written.startswith('\ufeff"Nr";"text";"label";"chosen_by"\n')
    assert '"8";"\'=1+1";""' in written

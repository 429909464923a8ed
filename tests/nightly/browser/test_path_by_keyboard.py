import json

from selenium.webdriver import Keys

from tests.browser.page import Page
from tests.browser.test_path_by_mouse import TRAIN
from tests.e2e.stack import OPTIONS, Stack
from tests.integration.conftest import Selections


def test_path_by_keyboard_alone(tab: Page, lens: Stack) -> None:
    lens.warm_worker()
    tab.open("/")
    tab.see("Which texts should be sorted?")
    tab.tab_to("Begin with a file")
    tab.press(Keys.ENTER)
    tab.see("Choose a file of texts")
    tab.tab_to("Labelled texts").send_keys(str(TRAIN))

    tab.see("How thorough?")
    tab.tab_to("Quick")
    tab.press(Keys.ARROW_DOWN)
    tab.press(Keys.ARROW_UP)
    tab.tab_to("How the model is asked")
    tab.press(Keys.ENTER)
    tab.see("(should be: delivery)")
    tab.tab_to("Word of technical")
    tab.press("device")  # it replaces what is selected
    tab.tab_to("Preview with row")
    tab.press(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
    tab.see("(should be: technical)")
    tab.tab_to("Name, model and options")
    tab.press(Keys.ENTER)
    tab.tab_to("Further options, as JSON")
    tab.press(json.dumps(OPTIONS))
    tab.tab_to("Skip to the content")  # behind the end of the page comes its beginning
    tab.tab_to("Start the selection")
    tab.press(Keys.ENTER)

    tab.see("What to use")
    selection_id = tab.path.rpartition("/")[2]
    tab.tab_to("rows of")
    tab.press(Keys.ENTER)
    tab.see("Texts of")
    lens.start_answers()
    tab.tab_to("A text of yours")
    tab.press("my lamp is broken")
    tab.tab_to("Answer")
    tab.press(Keys.ENTER)
    tab.see("% · by the")
    tab.tab_to("Show its prompt")
    tab.press(Keys.ENTER)
    tab.see("The model answers with one of: delivery, account, billing, device.")
    if tab.find_all("//details[not(@open)]/summary[normalize-space()='The prompt']"):
        tab.run("document.getElementById('prompt').closest('details').open = true")
    tab.find("//a[.='Text']").send_keys(Keys.ENTER)
    exported = lens.client.get(f"/selections/{selection_id}/export?format=text")
    assert tab.wait_for_download("train-prompt.txt") == exported.content
    tab.tab_to("Name of the prompt")
    tab.press("support-desk", Keys.ENTER)
    tab.see("Version 1 is live")


def test_first_tab_skips_to_the_content(tab: Page, stage: Selections) -> None:
    tab.open(f"/pages/selections/{stage.succeeded()}")
    tab.see("What to use")

    tab.press(Keys.TAB)
    tab.see("Skip to the content")
    assert tab.focused.rect["x"] >= 0
    tab.press(Keys.ENTER)
    assert tab.focused.get_attribute("id") == "main"
    tab.press(Keys.TAB)

    inside = "return document.getElementById('main').contains(document.activeElement)"
    assert tab.run(inside)

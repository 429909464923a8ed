"""What only a browser sees: problems that stay and take the focus, many tabs."""

from selenium.webdriver import Keys

from tests.browser.page import Page
from tests.integration.conftest import Selections
from tests.integration.samples import make_csv

COUNT_PREVIEWS = """
    window.previews = 0;
    document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
        if (ctx.request.action.includes("/pages/prompt")) window.previews += 1;
    });
"""


def store(stage: Selections, name: str, content: bytes) -> str:
    response = stage.client.post("/datasets", files={"dataset": (name, content)})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_refusal_stays_when_the_prompt_is_shown_anew(tab: Page, stage: Selections) -> None:
    tab.open(f"/pages/new?dataset={store(stage, 'films.csv', make_csv())}")
    tab.unfold("Name, model and options")
    assert tab.field("Name").get_attribute("value") == "films.csv"
    tab.run(COUNT_PREVIEWS)
    tab.fill_in("Further options, as JSON", "not json")

    tab.press_button("Start the selection")  # takes the focus from the field, whose change asks for the prompt

    tab.see("the further options are no JSON")
    tab.wait(lambda: tab.run("return window.previews"), "the prompt is shown anew")
    assert "the further options are no JSON" in tab.find("//*[@id='problem']").text


def test_refusal_has_the_focus_and_the_form_can_be_mended(tab: Page, stage: Selections) -> None:
    tab.open(f"/pages/new?dataset={store(stage, 'films.csv', make_csv())}")
    tab.unfold("How the model is asked")
    tab.fill_in("How each example is written", "{text} It was good.")
    tab.press_button("Start the selection")
    tab.see("{label}")
    problem = tab.find("//*[@id='problem'][@role='region']")
    tab.wait(lambda: tab.focused == problem, "the problem has the focus")

    tab.fill_in("How each example is written", "{text} It was {label}.")
    tab.press_button("Start the selection")

    tab.see("It waits")
    assert stage.client.get("/selections").json()["items"][0]["status"] == "queued"


def test_older_selections_continue_the_table(tab: Page, stage: Selections) -> None:
    ids = [stage.cancelled() for _ in range(4)][::-1]
    tab.resize(1200, 300)
    tab.open("/pages/selections?limit=2")
    tab.see("Mark two.")

    tab.tab_to("Older ones")
    tab.press(Keys.ENTER)

    tab.wait(lambda: tab.focused.text == ids[2], "the first of the older ones has the focus")
    assert [one.text for one in tab.find_all("//tbody/tr/th/a")] == ids
    assert len(tab.find_all("//caption")) == 1
    at = tab.run("return document.querySelector('#compare button').getBoundingClientRect().bottom")
    assert at <= 300, "the button is out of sight"

"""What only a browser sees: problems that stay, boxes that scroll, drawings that hold their names, many tabs."""

from urllib.parse import quote as as_address

from selenium.webdriver import Keys

from lens_engine.show.charts import Bar, draw_accuracies
from lens_engine.show.documents import STYLESHEET
from tests.browser.page import Page
from tests.browser.states import show, succeed
from tests.integration.conftest import Selections
from tests.integration.samples import make_csv, make_rows

MANY_TABS = 8
"""More than the connections that a browser holds to one host."""

COUNT_PREVIEWS = """
    window.previews = 0;
    document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
        if (ctx.request.action.includes("/pages/prompt")) window.previews += 1;
    });
"""
DEAD_STOPS = """
    return [...document.querySelectorAll("main [tabindex='0']")]
        .filter((one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight)
        .map((one) => one.outerHTML.slice(0, 80));
"""
UNREACHED = """
    return [...document.querySelectorAll("main :is(.scroll, .long):not([tabindex='0'])")]
        .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)
        .map((one) => one.outerHTML.slice(0, 80));
"""
PLACES = """
    return [...document.querySelectorAll(".matrix")].slice(0, 2).map((one) => one.getBoundingClientRect())
        .map(({ x, y, width }) => [x, y + scrollY, width]);
"""
OUTSIDE = """
    const end = (one) => one.getBoundingClientRect().right; // 0 of what the width hides
    return [...document.querySelectorAll("svg text")].filter((one) => end(one) > end(one.ownerSVGElement) + 1)
        .map((one) => one.textContent);
"""
LOW_LINKS = """
    return [...document.querySelectorAll(".columns a")].filter((one) => one.getBoundingClientRect().height < 24).length;
"""


def store(stage: Selections, name: str, content: bytes) -> str:
    response = stage.client.post("/datasets", files={"dataset": (name, content)})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_refusal_stays_when_the_prompt_is_shown_anew(tab: Page, stage: Selections) -> None:
    tab.open(f"/pages/new?dataset={store(stage, 'films.csv', make_csv())}")
    tab.see("the model answers here")
    assert tab.field("Name").get_attribute("value") == "films.csv"
    tab.unfold("Model and options")
    tab.run(COUNT_PREVIEWS)
    tab.fill_in("Further options, as JSON", "not json")

    tab.press_button("Start the selection")  # takes the focus from the field, whose change asks for the prompt

    tab.see("the further options are no JSON")
    tab.wait(lambda: tab.run("return window.previews"), "the prompt is shown anew")
    assert "the further options are no JSON" in tab.find("//*[@id='problem']").text


def test_file_that_no_form_can_be_made_of_leaves_nothing_waiting(tab: Page, stage: Selections) -> None:
    rows = [one for one in make_rows() if one["label"] == "positive"]
    tab.open(f"/pages/new?dataset={store(stage, 'films.csv', make_csv(rows))}")
    tab.see("every row has the label")
    tab.see_no_more("Working out what a selection takes")
    assert tab.find("//*[@id='problem']").get_attribute("role") == "alert"


def test_result_has_no_dead_stops_and_stays_where_it_is(tab: Page, stage: Selections) -> None:
    show(tab, succeed(stage))
    tab.wait(lambda: tab.run(DEAD_STOPS) == [], f"dead stops: {tab.run(DEAD_STOPS)}")
    places = tab.run(PLACES)
    assert places[0][1] == places[1][1], "they are not side by side"
    tab.find("//table[@class='matrix']//button").click()
    tab.see("Texts of")
    assert tab.run(PLACES) == places, "what a click shows moves a matrix"
    assert tab.run(LOW_LINKS) == 0
    assert tab.find("//*[@id='said']").get_attribute("textContent").endswith(" · Lens")

    tab.resize(360)

    tab.wait(lambda: tab.run("return document.querySelectorAll('.scroll[tabindex]').length"), "a box scrolls")
    tab.wait(lambda: tab.run(UNREACHED) == [], "boxes that scroll are stops")


def test_long_name_stays_in_its_drawing(tab: Page) -> None:
    name = "first · hidden states, after one prompt, layer 16 + bag of words"
    chart = draw_accuracies([Bar(name, 0.5, 0.4, 0.6, is_chosen=chosen) for chosen in (True, False)])
    document = f'<meta charset="utf-8"><style>{STYLESHEET.read_text("utf-8")}</style><body class="lens"><main>{chart}'
    tab.driver.get(f"data:text/html,{as_address(document)}")
    for width in (390, 1200):
        tab.resize(width)
        assert tab.run(OUTSIDE) == []


def test_older_selections_continue_the_table(tab: Page, stage: Selections) -> None:
    ids = [stage.cancelled() for _ in range(4)][::-1]
    tab.resize(1200, 300)
    tab.open("/pages/selections?limit=2")
    tab.see("Mark the one to compare with first")

    tab.tab_to("Older ones")
    tab.press(Keys.ENTER)

    tab.wait(lambda: tab.focused.text == ids[2], "the first of the older ones has the focus")
    assert [one.text for one in tab.find_all("//tbody/tr/th/a")] == ids
    assert len(tab.find_all("//caption")) == 1
    at = tab.run("return document.querySelector('#compare button').getBoundingClientRect().bottom")
    assert at <= 300, "the button is out of sight"


def test_many_tabs_are_served_at_once(tab: Page, stage: Selections) -> None:
    path, first = f"/pages/selections/{stage.queued()}", tab.driver.current_window_handle
    opened = list[str]()
    try:
        tab.open(path)
        tab.see("no worker is running")
        for _ in range(MANY_TABS - 1):
            tab.driver.switch_to.new_window("tab")
            opened.append(tab.driver.current_window_handle)
            tab.open(path)
            tab.see("no worker is running")
        tab.driver.switch_to.window(first)
        stage.claim(path.rpartition("/")[2])
        tab.see("Loading the model")
    finally:
        for one in opened:
            tab.driver.switch_to.window(one)
            tab.driver.close()
        tab.driver.switch_to.window(first)

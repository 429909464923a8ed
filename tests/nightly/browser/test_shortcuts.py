"""What the page does for its reader: it asks where a file leaves a doubt, fills in, answers, and says how far it is."""

import csv
from pathlib import Path

import pytest
from selenium.webdriver.support.ui import Select

from lens_engine.classifier.candidates import SuspiciousLabel
from tests.answered import make_answers
from tests.browser.page import Page
from tests.browser.states import open_state, run
from tests.integration.conftest import Selections
from tests.integration.samples import make_result, make_rows

_SUSPICIOUS = "The most suspicious first"


def test_columns_in_doubt_are_asked_for(tab: Page, tmp_path: Path) -> None:
    rows = [f"{number % 3} stars,{one['text']},{one['label']}" for number, one in enumerate(make_rows())]
    (tmp_path / "films.csv").write_text("\n".join(["first,second,third", *rows]))
    tab.open("/pages/new")
    tab.fill_in("Labelled texts", str(tmp_path / "films.csv"))

    tab.see("Which columns?")
    tab.wait(lambda: tab.focused.text == "Which columns?", "what is asked has the focus")
    Select(tab.field("Texts")).select_by_visible_text("second")
    Select(tab.field("Labels")).select_by_visible_text("third")
    tab.press_button("Read these columns")

    tab.see("60 rows, 2 labels")
    tab.unfold("How the file was read")
    tab.see("Text (column second)")


def test_sample_leads_to_the_form(tab: Page) -> None:
    tab.open("/pages/selections")
    tab.follow("Try the sample: reviews of a shop")

    tab.see(", 2 labels: positive (")
    tab.see("; 200 test rows.")
    tab.see("How thorough?")


def test_selection_runs_again_without_a_suspicious_row(tab: Page, stage: Selections) -> None:
    odd = SuspiciousLabel(row=7, label="negative", likelier="positive", probability=0.03, probability_of_likelier=0.9)
    answers = make_answers(rows=(7, 8), gold=(0, 1), classifier=(1, 1))
    found = {"suspicious_labels": (odd,), "answers": answers}
    tab.open(f"/pages/selections/{stage.succeeded(make_result().model_copy(update=found))}")

    lists = [Select(tab.find(f"//*[@aria-label='{one}']//select")) for one in ("Rows and their answers", _SUSPICIOUS)]
    lists[1].select_by_visible_text("– leave this row out –")
    assert lists[0].first_selected_option.text == "– leave this row out –", "the other list of rows does not show it"
    tab.press_button("Repeat with these labels")

    tab.see("59 rows, 2 labels")
    tab.see("It waits")


def test_title_of_the_tab_says_how_far_a_run_is(tab: Page, stage: Selections) -> None:
    open_state(tab, run(stage))
    tab.wait(lambda: tab.driver.title == "29 % · Selection · Lens", f"the title is {tab.driver.title}")


def put_classifier(stage: Selections) -> str:
    """Let the name `films` say a classifier that is better than its prompt. Returns the path of its selection."""
    body, new = {"selection_id": stage.of_words()}, {"If-None-Match": "*"}
    assert stage.client.put("/prompts/films", json=body, headers=new).status_code == 201
    return f"/pages/selections/{body['selection_id']}"


def test_text_is_answered_on_the_page_of_a_prompt(tab: Page, stage: Selections) -> None:
    put_classifier(stage)
    tab.open("/pages/prompts/films")

    tab.fill_in("A text of yours", "a warm evening")
    tab.press_button("Answer")

    tab.see("% · by the classifier")
    assert tab.find("//div[@id='tried']//strong").text in ("positive", "negative")


@pytest.mark.parametrize("is_prompt", [True, False], ids=["prompt", "selection"])
def test_file_is_labelled_on_a_page(tab: Page, stage: Selections, tmp_path: Path, is_prompt: bool) -> None:
    selection = put_classifier(stage)
    (tmp_path / "new.csv").write_text("id,text\n7,a warm evening\n8,zebra\n")
    tab.open("/pages/prompts/films" if is_prompt else selection)

    tab.fill_in("Drop a file with texts here, or choose one", str(tmp_path / "new.csv"))

    tab.see("2 of 2 texts of new.csv are labelled. ")
    tab.follow("Download the file with its labels")
    output = tab.wait_for_download("new-labelled.csv").decode("utf-8-sig")
    lines = list(csv.DictReader(output.splitlines()))
    assert [(line["id"], line["text"]) for line in lines] == [("7", "a warm evening"), ("8", "zebra")]
    unsure = sum(float(line["probability"]) < 0.6 for line in lines)
    assert unsure, lines
    tab.see(f"; {unsure} below 60 %")

"""What a page says when it refuses: which row or field is wrong, where everybody notices it."""

from pathlib import Path

import pytest

from tests.browser.page import Page
from tests.e2e.stack import Stack
from tests.integration.conftest import Selections
from tests.integration.samples import make_csv


def choose(tab: Page, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    tab.fill_in("Labelled texts", str(path))


def see_problem(tab: Page, *words: str) -> None:
    """The problem has the focus, is not announced besides, and says this."""
    for one in words:
        tab.see(one)
    problem = tab.find("//*[@id='problem'][@role='region']")
    assert all(one in " ".join(problem.text.split()) for one in words), problem.text
    tab.wait(lambda: tab.focused == problem, "the problem has the focus")


@pytest.fixture
def filled(tab: Page, tmp_path: Path) -> Page:
    """The form of a new selection."""
    tab.open("/pages/new")
    choose(tab, tmp_path / "films.csv", make_csv())
    tab.see("the model answers here")
    return tab


def test_row_without_a_text_is_left_out_and_named(tab: Page, tmp_path: Path) -> None:
    tab.open("/pages/new")
    choose(tab, tmp_path / "films.csv", make_csv() + b"\n ,positive")

    tab.see("1 row without a text left out (line 62)")


def test_file_of_many_broken_rows_is_refused_by_the_first_and_can_be_mended(tab: Page, tmp_path: Path) -> None:
    tab.open("/pages/new")
    choose(tab, tmp_path / "films.csv", make_csv() + b"\n ,positive" * 20)
    see_problem(tab, "line 62")

    choose(tab, tmp_path / "films.csv", make_csv())
    tab.press_button("Read the file")  # a file that has the same name is no change of the field

    tab.see("60 rows, 2 labels")


def test_unknown_column_is_named(tab: Page, tmp_path: Path) -> None:
    tab.open("/pages/new")
    tab.unfold("Options: test file, columns, encoding")
    tab.fill_in("Column of the texts", "body")

    choose(tab, tmp_path / "films.csv", make_csv())

    tab.see("Which columns?")
    tab.see("body")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ('{"search": ', "the further options are no JSON"),
        ("[1]", "the further options must be an object"),
        ('{"serach": {}}', "serach"),
        ('{"search": {"beam_width": 0}}', "beam_width"),
    ],
)
def test_wrong_options_are_named(filled: Page, options: str, says: str) -> None:
    filled.unfold("Model and options")
    filled.fill_in("Further options, as JSON", options)

    filled.press_button("Start the selection")

    see_problem(filled, says)


def test_template_without_a_label_is_refused_and_mended(filled: Page, lens: Stack) -> None:
    filled.fill_in("How each example is written", "{text} It was good.")
    filled.press_button("Start the selection")
    see_problem(filled, "{label}")

    filled.fill_in("How each example is written", "{text} It was {label}.")
    filled.press_button("Start the selection")

    filled.see("It waits")
    assert lens.client.get("/selections").json()["items"][0]["status"] == "queued"


def test_name_that_no_address_can_have_is_refused(tab: Page, stage: Selections) -> None:
    tab.open(f"/pages/selections/{stage.succeeded()}")
    tab.fill_in("Name of the prompt", "Grüße")

    tab.press_button("Put into production")

    see_problem(tab, "a prompt needs a name of letters, digits, dots and dashes, such as ticket-router")
    assert stage.client.get("/prompts").json()["items"] == []


def test_missing_selection_is_said(tab: Page) -> None:
    tab.open("/pages/selections/sel_01k5kcfb0p5rkbzz2bv2ckzq4t")
    tab.see("no selection")
    tab.see_no_more("Loading")


def test_prompt_of_a_missing_row_is_refused_in_its_place(filled: Page) -> None:
    filled.fill_in("Preview with row", "1000\t")
    filled.see("there is no row 1000; choose a smaller number")

    filled.fill_in("Preview with row", "1\t")

    filled.see("the model answers here")

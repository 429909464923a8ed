"""Every page, in every state that a person meets."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from app.lifecycle.claims import renew_lease
from lens_engine.types import Phase
from tests.browser.page import Page
from tests.integration.conftest import Selections
from tests.integration.samples import PROGRESS, make_csv, make_rows
from tests.unit.lens_engine.show.reported import make_reported

HOUR = 3600.0

_STEPS = (
    replace(PROGRESS, phase=Phase.FILTER, survivors=200, pairs_done=20_000),
    replace(PROGRESS, phase=Phase.JUDGE, survivors=100, expected_accuracy=0.7, pairs_done=60_000),
    replace(PROGRESS, phase=Phase.JUDGE, survivors=100, expected_accuracy=0.72),
)


class State(NamedTuple):
    """A page as it is once it has come."""

    path: str
    says: str


def list_selections(stage: Selections) -> State:
    for status in ("succeeded", "failed", "cancelled", "queued"):
        stage.in_state(status)
    _run(stage)
    return State("/pages/selections", "Mark two.")


def fill_in(stage: Selections) -> State:
    return State(f"/pages/new?dataset={_store(stage)}", "How thorough?")


def run(stage: Selections) -> State:
    return State(f"/pages/selections/{_run(stage)}", "right on new texts")


def succeed(stage: Selections) -> State:
    return State(f"/pages/selections/{stage.succeeded(make_reported())}", "What to use")


def list_names(stage: Selections) -> State:
    _promote(stage)
    return State("/pages/prompts", "Programs ask for a name")


def show_a_name(stage: Selections) -> State:
    _promote(stage)
    _promote(stage)
    return State("/pages/prompts/desk", "Version 2 is live")


def compare(stage: Selections) -> State:
    first, second = stage.succeeded(make_reported()), stage.succeeded()
    return State(f"/pages/compare?of={first}&of={second}", "The baseline is the older one")


STATES: dict[str, Callable[[Selections], State]] = {
    "list-empty": lambda _: State("/pages/selections", "Which texts should be sorted?"),
    "list": list_selections,
    "new-empty": lambda _: State("/pages/new", "Choose a file of texts"),
    "new": fill_in,
    "queued": lambda stage: State(f"/pages/selections/{stage.queued()}", "no worker is running"),
    "running": run,
    "result": succeed,
    "failed": lambda stage: State(f"/pages/selections/{stage.failed()}", "It failed:"),
    "cancelled": lambda stage: State(f"/pages/selections/{stage.cancelled()}", "You stopped it"),
    "names": list_names,
    "name": show_a_name,
    "compare": compare,
}
"""What brings the service into the state."""


def open_state(page: Page, state: State) -> None:
    page.open(state.path)
    page.see(state.says)


def show(page: Page, state: State) -> None:
    """Open the page, with everything unfolded that can be."""
    open_state(page, state)
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")


def _run(stage: Selections) -> str:
    claim = stage.running(HOUR)
    for progress in _STEPS:
        stage.transact(renew_lease, claim, HOUR, progress)
    return claim.job_id


def _store(stage: Selections) -> str:
    """A file with all that a page has to say of one: two labels of one text, look-alike labels."""
    rows = make_rows()
    odd = [
        {"text": rows[0]["text"], "label": "negative"},
        {"text": "a film of its own", "label": "Positive"},
        {"text": "", "label": "positive"},
    ]
    response = stage.client.post("/datasets", files={"dataset": ("films.csv", make_csv([*rows, *odd]))})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def _promote(stage: Selections) -> None:
    body, known = {"selection_id": stage.succeeded(make_reported())}, stage.client.get("/prompts/desk")
    condition = {"If-Match": known.headers["etag"]} if known.status_code == 200 else {"If-None-Match": "*"}
    response = stage.client.put("/prompts/desk", json=body, headers=condition)
    assert response.status_code in (200, 201), response.text

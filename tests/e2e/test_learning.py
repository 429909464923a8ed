"""A prompt in production that finds examples for each input, and learns; a selection that answers while it runs."""

from typing import Any

from tests.e2e.stack import EXAMPLES, OPTIONS, Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.waiting import until

TEXT = "the parcel of my mother came late"
ADDED = {"text": "my parcel came too late", "label": "bad"}
NEAREST: dict[str, Any] = {**OPTIONS, "search": {**OPTIONS["search"], "forms": ["nearest"]}}


def render(lens: Stack) -> dict[str, Any]:
    answer = lens.client.post("/prompts/mail/render", json={"input": TEXT})
    assert answer.status_code == 200, answer.text
    prompt: dict[str, Any] = answer.json()["prompts"][0]
    return prompt


def test_added_example_is_used_by_the_next_prompt(lens: Stack) -> None:
    lens.warm_worker()
    selection_id = lens.submit(options=NEAREST)
    lens.wait_until_done(selection_id)
    put = lens.client.put("/prompts/mail", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    assert put.status_code == 201, put.text
    before = render(lens)
    shown = [EXAMPLES[one["row"]] for one in before["demonstrations"]]
    words = {"good": "great", "bad": "terrible"}
    lines = [f"{one['text']} It was {words[one['label']]}." for one in shown]
    assert before["prompt"] == "\n".join([*lines, f"{TEXT} It was"])

    added = lens.client.post("/prompts/mail/examples", json={"examples": [ADDED]}, headers={"If-Match": '"1"'})
    assert added.status_code == 200, added.text
    after = render(lens)
    assert after["demonstrations"][-1]["row"] == len(EXAMPLES)
    assert after["prompt"].endswith(f"{ADDED['text']} It was terrible.\n{TEXT} It was")

    lens.stop_api()
    lens.start_api()
    assert render(lens) == after
    taken = lens.client.delete(f"/prompts/mail/examples/{len(EXAMPLES)}", headers={"If-Match": '"2"'})
    assert taken.status_code == 200, taken.text
    assert render(lens) == before


def test_running_selection_answers_with_its_best_so_far(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    lens.warm_worker()
    selection_id = lens.submit()
    path = f"/selections/{selection_id}/render"

    def find() -> dict[str, Any] | None:
        answer = lens.client.post(path, json={"input": TEXT})
        assert answer.status_code in (200, 409), answer.text
        return answer.json() if answer.status_code == 200 else None

    early = until(find, "the best so far")
    lens.let_go()
    lens.wait_until_done(selection_id)
    final = lens.client.post(path, json={"input": TEXT}).json()

    assert (early["partial"], early["running"]) == (True, True)
    assert early["judged"]["n"] > 0
    assert early["prompts"][0]["prompt"].endswith(f"{TEXT} It was")
    assert (final["partial"], final["running"]) == (False, False)

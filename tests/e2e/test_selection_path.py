"""From POST to a rendered prompt."""

from app.selections.states import Status
from tests.e2e.stack import Stack


def test_a_posted_dataset_becomes_a_prompt(lens: Stack) -> None:
    lens.start_worker()
    selection_id = lens.submit()

    selection = lens.wait_until_done(selection_id)
    result = lens.client.get(f"/selections/{selection_id}/support-examples").json()
    prompt = lens.client.post(f"/selections/{selection_id}/render", json={"input": "a new message"}).json()

    assert selection["status"] == Status.SUCCEEDED
    assert selection["attempt"] == 1
    assert selection["digest"] == result["digest"] == lens.undisturbed_digest(selection_id)
    demonstrations = [f"{example['text']} It was {example['label_word']}." for example in result["examples"]]
    assert prompt["prompt"] == "\n".join([*demonstrations, "a new message It was"])
    lens.check_invariants()


def test_progress_shows_the_whole_run(lens: Stack) -> None:
    lens.start_worker()
    selection_id = lens.submit()
    lens.wait_until_done(selection_id)

    events = lens.client.get(f"/selections/{selection_id}/events").json()["items"]

    statuses = [event["data"]["to"] for event in events if event["type"] == "status"]
    assert statuses == ["queued", "running", "succeeded"]

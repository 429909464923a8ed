"""From POST to a rendered prompt."""

from typing import Any

from app.store.tables import Status
from lens_engine.types import Phase
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_FILTER, IN_THE_SEARCH
from tests.e2e.waiting import until


def test_a_posted_dataset_becomes_a_prompt(lens: Stack) -> None:
    lens.warm_worker()
    selection_id = lens.submit()

    selection = lens.wait_until_done(selection_id)
    result = lens.client.get(f"/selections/{selection_id}/result").json()
    rendered = lens.client.post(f"/selections/{selection_id}/render", json={"input": "a new message"}).json()

    assert selection["status"] == Status.SUCCEEDED
    assert selection["attempt"] == 1
    assert selection["digest"] == result["digest"] == lens.undisturbed_digest(selection_id)
    examples = result["support_examples"][0]["examples"]
    demonstrations = [f"{example['text']} It was {example['label_word']}." for example in examples]
    assert rendered["prompts"][0]["prompt"] == "\n".join([*demonstrations, "a new message It was"])
    lens.check_invariants()


def test_progress_shows_the_whole_run(lens: Stack) -> None:
    lens.hold_from(IN_THE_FILTER)
    lens.warm_worker()
    selection_id = lens.submit()
    filtering = wait_for_progress(lens, selection_id, "filter")
    lens.hold_from(IN_THE_SEARCH)
    searching = wait_for_progress(lens, selection_id, "search")
    lens.let_go()
    ended = lens.wait_until_done(selection_id)["progress"]

    events = lens.client.get(f"/selections/{selection_id}/events").json()["items"]

    moves = {kind: [event["data"]["to"] for event in events if event["type"] == kind] for kind in ("status", "phase")}
    assert moves["status"] == ["queued", "running", "succeeded"]
    assert [phase for phase in moves["phase"] if phase in {"filter", "search"}] == ["filter", "search"]
    assert moves["phase"] == sorted(moves["phase"], key=[*Phase].index)
    assert filtering["step"] <= filtering["steps"]
    assert 0 < filtering["pairs_done"] < searching["pairs_done"] < searching["pairs_total"]
    assert 0 < filtering["tokens_done"] < searching["tokens_done"]
    assert ended["pairs_done"] == ended["pairs_total"] > searching["pairs_done"]


def wait_for_progress(lens: Stack, selection_id: str, phase: str) -> dict[str, Any]:
    """The progress of a held run in this phase, with the work before the held call."""

    def find() -> dict[str, Any] | None:
        progress: dict[str, Any] | None = lens.get(selection_id)["progress"]
        return progress if progress is not None and progress["phase"] == phase else None

    return until(find, f"progress of {phase}")

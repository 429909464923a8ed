"""Prompts that find examples for each input: rendered as the library asks them, from a pool that no poll reads."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from app.answers.schemas import MAX_INPUTS
from app.lifecycle import claims, endings
from app.lifecycle.claims import PackedCheckpoint
from app.store.database import Database
from app.store.prompts import pack_pool, unpack_pool
from lens_engine.config import USES, Use
from lens_engine.prompt.chat import ask_for_letters, ask_for_words
from lens_engine.prompt.pool import Pool
from lens_engine.prompt.template import Task
from lens_engine.prompt.text_checks import NUL, is_blank
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint
from lens_engine.types import Example, Phase, StopReason
from tests.integration.conftest import Publish, Selections, transact
from tests.integration.prompts_with_pools import list_asked, make_finding_result, make_pool_of_rows, take_task
from tests.integration.samples import TASK, make_result, problem_of
from tests.integration.test_quota import stored_by
from tests.unit.lens_engine.prompt.odd_texts import TEXTS

STORABLE = TEXTS.map(lambda text: text.replace(NUL, ""))
"""Texts of datasets and inputs: the service refuses NUL in them."""

TEXT = "a warm film on the hill by night"
NEW = {"If-None-Match": "*"}
ODD = Task(
    "{{{text}}}\u2028 {label}!",
    {"positive": "ß \u2028\"'", "negative": "{text}"},
    "\r\n\r\n",
    instruction="Praise {text},\r\nor \u202eblame {label}?",
)
ALWAYS = ("two\r\nlines\r\r\n\n", "\u202ertl مرحبا\u202c \ufdd0", "👍🏽 {label} It was great.\n", " e\u0301t\u00e9 ")
"""Texts that are asked in each round, whatever is drawn: lines, directions, marks, and what looks like a prompt."""
CHATS = {"words": ask_for_words(ODD, ["ß", "{"]), "letters": ask_for_letters(ODD)}
TASKS: dict[str, Task] = {"plain": TASK, "odd": ODD, **CHATS}


def read_shown(prompt: dict[str, Any]) -> list[tuple[int, str]]:
    return [(one["row"], one["origin"]) for one in prompt["demonstrations"]]


@pytest.mark.parametrize("use", USES)
def test_prompt_is_that_of_the_library(client: TestClient, selections: Selections, publish: Publish, use: Use) -> None:
    result = make_finding_result()
    path = publish(selections.succeeded(result))
    texts = [TEXT, "a dull film at sea", "quite another thing"]
    rendered = client.post(f"{path}/render", json={"inputs": texts, "use": use}).json()
    assert [one["prompt"] for one in rendered["prompts"]] == list_asked(result, use, texts)
    assert rendered["form"] == result.answer_for(use).form.model_dump()
    assert rendered["pool_rows"] == 40
    fixed = [(4, "fixed"), (1, "fixed")] if use == "probabilities" else []
    for one in rendered["prompts"]:
        assert read_shown(one)[: len(fixed)] == fixed
        assert [origin for _, origin in read_shown(one)[len(fixed) :]] == ["found", "found"]
    last = rendered["prompts"][0]["demonstrations"][-1]
    assert (last["row"], last["label"]) == (18, "positive")
    assert 0 < last["similarity"] < 1


@given(
    task=st.sampled_from(sorted(TASKS)),
    rows=st.lists(st.tuples(STORABLE, st.sampled_from(["positive", "negative"])), min_size=3, max_size=30),
    texts=st.lists(STORABLE.filter(lambda text: not is_blank(text)), min_size=1, max_size=20),
)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_service_and_library_render_the_same_bytes(
    client: TestClient, selections: Selections, task: str, rows: list[tuple[str, str]], texts: list[str]
) -> None:
    """And the model is asked with them. The last texts are those of rows, which are not found for themselves."""
    rows = [*rows, *((text.upper(), "positive") for text in ALWAYS)]
    examples = [Example(row + 5, text, label) for row, (text, label) in enumerate(rows)]
    result = take_task(make_finding_result(Pool.of(examples), nearest=3), TASKS[task], examples[:2])
    texts = [*ALWAYS, *texts, *(text for text, _ in rows if not is_blank(text))][:MAX_INPUTS]
    path = f"/selections/{selections.succeeded(result)}"
    for use in USES:
        answer = client.post(f"{path}/render", json={"inputs": texts, "use": use})
        assert answer.status_code == 200, answer.text
        rendered = [one["prompt"] for one in answer.json()["prompts"]]
        assert rendered == [result.render(text, use).text for text in texts]
        if task not in CHATS:  # for which the double would need a template
            assert rendered == [prompt for text in texts for prompt in list_asked(result, use, [text])]


@given(rows=st.lists(TEXTS, max_size=20))
@settings(max_examples=50, deadline=None)
def test_pool_is_read_back_as_it_was_stored(rows: list[str]) -> None:
    pool = Pool.of([Example(3 * row, text, text[:5]) for row, text in enumerate(rows)])
    packed = pack_pool(pool)
    assert (unpack_pool(packed.data), packed.num_rows) == (pool, len(rows))
    assert pack_pool(Pool(rows=pool.rows)).digest == packed.digest


def test_support_examples_of_an_input(client: TestClient, selections: Selections, publish: Publish) -> None:
    path = publish(selections.succeeded(make_finding_result()))
    plain = client.get(f"{path}/support-examples").json()
    assert (plain["demonstrations"], plain["examples"], plain["pool_rows"]) == (None, [], 40)
    answer = client.get(f"{path}/support-examples", params={"input": TEXT})
    rendered = client.post(f"{path}/render", json={"input": TEXT}).json()["prompts"][0]
    shown = answer.json()
    assert [{**one, "text": None} for one in shown["demonstrations"]] == [
        {**one, "text": None} for one in rendered["demonstrations"]
    ]
    assert [one["text"] for one in shown["demonstrations"]][-1].startswith("a warm film")
    assert rendered["prompt"].startswith(shown["prompt"])
    known = {"If-None-Match": answer.headers["etag"]}
    assert client.get(f"{path}/support-examples", params={"input": TEXT}, headers=known).status_code == 304
    if path.startswith("/selections"):  # the ETag of a name is its version
        other = client.get(f"{path}/support-examples", params={"input": "at sea"}, headers=known)
        assert (other.status_code, other.json()["demonstrations"] == shown["demonstrations"]) == (200, False)


@pytest.mark.parametrize(("text", "what"), [("x" * 1001, "1000"), (" \u200b", "is blank")])
def test_bad_input_in_an_address_is_refused(client: TestClient, selections: Selections, text: str, what: str) -> None:
    path = f"/selections/{selections.succeeded(make_finding_result())}/support-examples"
    refusal = problem_of(client.get(path, params={"input": text}), 400, "bad-request")
    assert refusal["errors"][0]["pointer"] == "/query/input"
    assert what in refusal["detail"].replace(",", "")


def test_result_has_the_pool_only_if_it_is_asked_for(client: TestClient, selections: Selections) -> None:
    result = make_finding_result()
    path = f"/selections/{selections.succeeded(result)}"
    brief, whole = client.get(f"{path}/result"), client.get(f"{path}/result?pool=true")
    assert ("pool" in brief.json(), brief.json()["pool_rows"]) == (False, 40)
    assert brief.headers["etag"] != whole.headers["etag"]
    stored = {name: value for name, value in whole.json().items() if name not in ("selection_id", "pool_rows")}
    assert SelectionResult.model_validate(stored).with_digest().digest == result.digest
    assert client.get(f"/selections/{selections.succeeded()}/result").json()["pool_rows"] is None
    used = stored_by(selections.database)
    assert selections.sql("DELETE FROM pools") is None
    assert stored_by(selections.database) < used


def test_pool_goes_with_the_selection_and_stays_with_the_name(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded(make_finding_result())
    put = client.put("/prompts/triage", json={"selection_id": selection_id}, headers=NEW)
    assert (put.json()["form"], put.json()["pool_rows"]) == ("nearest 2", 40)
    before = client.post("/prompts/triage/render", json={"input": TEXT}).json()
    assert client.delete(f"/selections/{selection_id}").status_code == 204
    assert selections.count("pools") == 0
    assert client.post("/prompts/triage/render", json={"input": TEXT}).json() == before
    used = stored_by(selections.database)
    assert client.delete("/prompts/triage", headers={"If-Match": "*"}).status_code == 204
    assert selections.count("prompt_pools") == 0
    assert stored_by(selections.database) < used


@pytest.fixture
def save(database: Database) -> Callable[..., None]:
    """Stores a checkpoint with this best so far, as the heartbeat does."""

    def store(claim: claims.Claim, best: SelectionResult | None, step: int = 1) -> None:
        packed = PackedCheckpoint.of(Checkpoint("f", Phase.JUDGE, step, "float32"), best)
        assert transact(database, claims.save_checkpoint, claim, packed)

    return store


def make_best(result: SelectionResult) -> SelectionResult:
    changes = {"partial": True, "stop_reason": StopReason.CANCELLED}
    return result.model_copy(update=changes).with_digest()


def test_pool_lives_while_it_is_named(client: TestClient, selections: Selections, save: Callable[..., None]) -> None:
    count = "SELECT count(*) FROM pools"
    claim = selections.running()
    result = make_finding_result(make_pool_of_rows(range(30)))
    save(claim, make_best(result))
    assert "pool" not in selections.sql("SELECT best FROM checkpoints")
    client.post(f"/selections/{claim.job_id}/cancel")
    assert selections.transact(endings.finish_cancelled, claim)
    path = f"/selections/{claim.job_id}"
    assert client.get(path).json()["digest"] == make_best(result).digest
    rendered = client.post(f"{path}/render", json={"input": TEXT}).json()
    assert [rendered["prompts"][0]["prompt"]] == list_asked(result, "prompt", [TEXT])
    assert client.post(f"{path}/resume").status_code == 202
    problem_of(client.post(f"{path}/render", json={"input": TEXT}), 409, "not-finished")
    claim = selections.claim(claim.job_id)
    assert selections.sql(count) == 1
    assert selections.transact(endings.finish, claim, make_result())
    assert selections.sql(count) == 0
    failing = selections.running()
    save(failing, make_best(result))
    assert selections.transact(endings.fail, failing, {"code": "non-finite"})
    assert selections.sql(count) == 0

"""lens_client against the service over real HTTP: from a submission to a prompt in production."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle import endings
from app.lifecycle.results import SelectionOutcome
from lens_client import AsyncLensClient, LensClient, errors
from lens_engine.exports import export_support_examples
from tests.integration.conftest import Selections
from tests.integration.samples import make_classifier, make_csv, make_result, make_rows, make_spec


@pytest.fixture
def url(client: TestClient) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(client.app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def finish(selections: Selections, database: Database) -> Callable[[str], None]:
    def end(selection_id: str) -> None:
        claim = selections.claim(selection_id)
        with database.session_scope() as session:
            assert endings.finish(session, claim, SelectionOutcome(make_result()))

    return end


def test_from_a_submission_to_production(url: str, finish: Callable[[str], None]) -> None:
    with LensClient(url) as client:
        made = client.selections.submit(make_csv(), spec=make_spec(), idempotency_key="k1")
        assert client.selections.submit(make_csv(), spec=make_spec(), idempotency_key="k1").id == made.id
        assert made.status == "queued"
        finish(made.id)
        assert client.selections.wait(made.id, timeout=10).digest == make_result().digest
        found = client.selections.support_examples(made.id, use="probabilities")
        assert [one.row for one in found.examples] == [4, 1]
        written = {"text_column": "text", "delimiter": ",", "encoding": "utf-8"}
        assert client.selections.classifier(made.id) == {**make_classifier().model_dump(mode="json"), "input": written}
        assert client.selections.export(made.id, "text") == export_support_examples(make_result(), "text")
        assert client.selections.suspicious_labels(made.id) == []
        assert client.selections.result(made.id)["digest"] == client.selections.get(made.id).digest
        assert client.prompts.put("support-triage", selection_id=made.id, note="first").version == 1
        assert str(client.prompts.render("support-triage", "Fun.")).endswith("\nFun. It was")
        both = client.prompts.render("support-triage", ["a", "b"], prompts="classifier")
        assert (both.version, both.name, {one.input for one in both.prompts}) == (1, "support-triage", {0, 1})
        client.selections.delete(made.id)
        with pytest.raises(errors.NotFound):
            client.selections.get(made.id)
        assert [one.name for one in client.prompts.list()] == ["support-triage"]
        assert [one.note for one in client.prompts.versions("support-triage")] == ["first"]
        assert client.prompts.support_examples("support-triage").version == 1
        with pytest.raises(errors.PreconditionFailed):
            client.prompts.delete("support-triage", if_version=2)
        client.prompts.delete("support-triage", if_version=1)
        with pytest.raises(errors.NotFound):
            client.prompts.get("support-triage")


def test_refusal_has_its_class_and_its_places(url: str) -> None:
    with LensClient(url) as client:
        with pytest.raises(errors.InvalidRequest) as refusal:
            client.selections.submit(examples=make_rows(), spec={"presset": "quick"})
        assert [one["pointer"] for one in refusal.value.errors] == ["/spec/presset"]
        with pytest.raises(errors.InvalidDataset):
            client.selections.submit(b"text,label\na,b\nc\n", spec=make_spec())


def test_cancel_resume_and_list_without_blocking(url: str) -> None:
    async def act() -> list[Any]:
        async with AsyncLensClient(url) as client:
            made = await client.selections.submit(examples=make_rows(), spec=make_spec())
            cancelled = await client.selections.cancel(made.id)
            with pytest.raises(errors.NotSucceeded):
                await client.selections.wait(made.id)
            resumed = await client.selections.resume(made.id)
            with pytest.raises(errors.NotFailed):
                await client.selections.retry(made.id)
            listed = await client.selections.list(status="queued")
            return [cancelled.status, resumed.status, [one.id for one in listed] == [made.id]]

    assert asyncio.run(act()) == ["cancelled", "queued", True]

"""lens_client against the service over real HTTP: from a submission to a prompt in production."""

import asyncio
import csv
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from lens_client import AsyncLensClient, LensClient, NotSucceeded, Problem
from lens_engine.show.exports import export_support_examples
from tests.e2e.lens_command import run
from tests.integration.conftest import Selections
from tests.integration.prompts_with_pools import make_finding_result
from tests.integration.samples import make_bag_of_words, make_classifier, make_csv, make_result, make_rows, make_spec


def refusing(code: str) -> pytest.RaisesExc[Problem]:
    return pytest.raises(Problem, check=lambda problem: problem.code == code)


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


def test_from_a_submission_to_production(url: str, selections: Selections) -> None:
    with LensClient(url) as client:
        made = client.selections.submit(make_csv(), spec=make_spec(), idempotency_key="k1")
        assert client.selections.submit(make_csv(), spec=make_spec(), idempotency_key="k1").id == made.id
        assert made.status == "queued"
        selections.finish(selections.claim(made.id))
        assert client.selections.wait(made.id, timeout=10).digest == make_result().digest
        found = client.selections.support_examples(made.id, use="probabilities")
        assert [one.row for one in found.examples] == [4, 1]
        written = {"text_column": "text", "delimiter": ",", "encoding": "utf-8"}
        assert client.selections.classifier(made.id) == {**make_classifier().model_dump(mode="json"), "input": written}
        assert client.selections.export(made.id, "text") == export_support_examples(make_result(), "text")
        assert client.selections.suspicious_labels(made.id) == []
        assert client.selections.report(made.id).startswith(b"<!doctype html>")
        assert client.selections.result(made.id)["digest"] == client.selections.get(made.id).digest
        assert client.prompts.put("support-triage", selection_id=made.id, note="first").version == 1
        assert str(client.prompts.render("support-triage", "Fun.")).endswith("\nFun. It was")
        both = client.prompts.render("support-triage", ["a", "b"])
        assert (both.version, both.name, {one.input for one in both.prompts}) == (1, "support-triage", {0, 1})
        client.selections.delete(made.id)
        with refusing("not-found"):
            client.selections.get(made.id)
        assert [one.name for one in client.prompts.list()] == ["support-triage"]
        assert [one.note for one in client.prompts.versions("support-triage")] == ["first"]
        assert client.prompts.support_examples("support-triage").version == 1
        with refusing("precondition-failed"):
            client.prompts.delete("support-triage", if_version=2)
        client.prompts.delete("support-triage", if_version=1)
        with refusing("not-found"):
            client.prompts.get("support-triage")


def test_refusal_has_its_code_and_its_places(url: str) -> None:
    with LensClient(url) as client:
        with refusing("invalid-request") as refusal:
            client.selections.submit(examples=make_rows(), spec={"presset": "quick"})
        assert [one["pointer"] for one in refusal.value.errors] == ["/spec/presset"]
        with refusing("invalid-dataset"):
            client.selections.submit(b"text,label\na,b\nc\n", spec=make_spec())


def test_cancel_resume_and_list_without_blocking(url: str) -> None:
    async def act() -> list[Any]:
        async with AsyncLensClient(url) as client:
            made = await client.selections.submit(examples=make_rows(), spec=make_spec())
            cancelled = await client.selections.cancel(made.id)
            with pytest.raises(NotSucceeded):
                await client.selections.wait(made.id)
            resumed = await client.selections.resume(made.id)
            listed = await client.selections.list(status="queued")
            return [cancelled.status, resumed.status, [one.id for one in listed] == [made.id]]

    assert asyncio.run(act()) == ["cancelled", "queued", True]


def test_datasets_and_answers_at_once(url: str, selections: Selections, tmp_path: Path) -> None:
    with LensClient(url) as client:
        dataset = client.datasets.store(examples=make_rows(), name="reviews")
        assert client.datasets.store(make_csv()).id != dataset.id  # of another format
        assert [one.id for one in client.datasets.list(most=2)][-1] == dataset.id
        assert client.datasets.get(dataset.id).rows == 60
        (tmp_path / "new.csv").write_text("text\na tax letter\n")
        for texts in (["a tax letter"], tmp_path / "new.csv"):
            suggested = client.datasets.suggest_labels(texts, dataset_id=dataset.id, n=1).items
            assert [(one.input, one.text, one.chosen_by) for one in suggested] == [(0, "a tax letter", "spread")]
        made = client.selections.submit(dataset_id=dataset.id, spec=make_spec(), name=None)
        with refusing("dataset-in-use"):
            client.datasets.delete(dataset.id)
        with refusing("not-finished"):
            client.selections.classify(made.id, "a")
        selections.finish(selections.claim(made.id))
        words = make_bag_of_words()
        words = words.model_copy(update={"task": words.task.model_copy(update={"left_out": ("mixed",)})})
        selections.sql("UPDATE classifiers SET classifier = :words", words=words.model_dump_json())
        client.prompts.put("triage", selection_id=made.id)
        texts = [row["text"] for row in make_rows()] * 10
        found = client.prompts.classify("triage", texts, prompts="classifier")
        expected = make_bag_of_words().predict(texts).labels
        assert (found.contender.kind, tuple(one.label for one in found.answers)) == ("words", expected)
        assert [one.input for one in found.answers] == list(range(600))
        (tmp_path / "new.csv").write_bytes(make_csv())
        seen = list[tuple[int, int]]()
        client.selections.classify(
            made.id,
            tmp_path / "new.csv",
            tmp_path / "out.csv",
            prompts="classifier",
            on_batch=lambda *rows: seen.append(rows),
        )
        with (tmp_path / "out.csv").open(newline="", encoding="utf-8-sig") as file:
            assert tuple(row["label"] for row in csv.DictReader(file)) == expected[:60]
        assert (seen, list(tmp_path.glob("*.partial*"))) == ([(60, 60)], [])
        (tmp_path / "new.csv").write_bytes(make_csv() + b"\nso so,Mixed")
        judged = client.prompts.evaluate("triage", tmp_path / "new.csv", prompts="classifier", keep=True, title="May")
        right = sum(row["label"] == label for row, label in zip(make_rows(), expected[:60], strict=True))
        assert judged.result["quality"]["accuracy"] == right / 60
        note = "1 row was left out, which has a label that the selection left out as too rare: 'Mixed' (1)"
        assert note in judged.result["warnings"]
        for labels, judged_rows in ((["Mixed"], None), (["Mixed", "positive"], 1)):
            asked = client.prompts.classify("triage", texts[: len(labels)], labels=labels, prompts="classifier")
            assert (asked.figures and asked.figures["n"]) == judged_rows
        assert client.prompts.evaluations("triage") == [judged]
        assert client.models()[0]["is_default"]


def test_command_goes_on_where_the_client_was_killed_and_tells_of_bad_rows(
    url: str, selections: Selections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection_id = selections.succeeded(make_result(classifier=make_bag_of_words()))
    texts = [f"{row['text']} {number}" for number in range(9) for row in make_rows()]
    (tmp_path / "new.csv").write_text("\n".join(["text", *texts, "x" * 20_001]))
    monkeypatch.chdir(tmp_path)

    def die(*_: int) -> None:
        raise SystemExit

    with LensClient(url) as client, pytest.raises(SystemExit):
        client.selections.classify(selection_id, "new.csv", "out.csv", prompts="classifier", on_batch=die)
    with LensClient(url) as client:
        client.selections.classify(selection_id, "new.csv", "out.JSONL", prompts="classifier")
        assert json.loads(Path("out.JSONL").read_text().splitlines()[0])["text"] == texts[0]
    address = ("--service", f"{url}/selections/{selection_id}", "--prompts", "classifier")
    outputs = (("out.csv", "541/541 rows"), ("new.csv", "exists"), ("out.csv", "exists"), ("own.csv", "512/541 rows"))
    for output, said in outputs:
        done = run(["classify", "new.csv", *address, "--output", output])
        told = done.stderr
        assert (done.returncode, said in told) == (2, True), told
        assert ("512/541 rows" in told) == (output == "own.csv")  # a batch has no speed before another ended
        assert said == "exists" or f"541 rows in {output}\nerror: 1 of 541 rows could not be classified" in told
    assert "row 541: (line 542) `text` is longer than 20,000 characters" in told
    assert Path("out.csv").read_bytes() == Path("own.csv").read_bytes()


def test_prompt_that_learns(url: str, selections: Selections) -> None:
    text = "the parcel of my mother came late"
    selection_id = selections.succeeded(make_finding_result())
    with LensClient(url) as client:
        assert "pool" not in client.selections.result(selection_id)
        assert len(client.selections.result(selection_id, pool=True)["pool"]["rows"]) == 40
        client.prompts.put("triage", selection_id=selection_id)
        before = client.prompts.render("triage", text).prompts[0]
        added = client.prompts.add_examples("triage", [("my parcel came late", "negative")], note="hotline")
        assert (added.version, added.pool_rows, added.added, added.note) == (2, 41, 1, "hotline")
        shown = client.prompts.support_examples("triage", input=text)
        assert shown.demonstrations is not None
        assert shown.form is not None
        assert (shown.form.kind, shown.demonstrations[-1].row) == ("nearest", 60)
        assert before.prompt != client.prompts.render("triage", text).prompts[0].prompt
        with refusing("precondition-failed"):
            client.prompts.take_example_out("triage", 60, if_version=1)
        with refusing("contradicting-example") as refusal:
            client.prompts.add_examples("triage", [("My parcel came late", "positive")])
        assert refusal.value.errors[0]["row"] == 60
        assert client.prompts.examples("triage", most=100)[-1].added
        assert client.prompts.make_dataset("triage").rows == 41
        assert client.prompts.take_example_out("triage", 60).pool_rows == 40
        assert client.prompts.render("triage", text).prompts[0] == before

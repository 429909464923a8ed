"""The process that answers at once, and the API's client of it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from app.answers.answering import AnswersClient
from app.answers.remote import Subject
from app.errors import Unavailable
from app.settings import Settings
from lens_engine.evaluation.batches import BATCH_ROWS, Prediction, predict_rows
from lens_engine.files import TextRow
from lens_engine.testing import TableScorer
from tests.e2e.processes import status_at
from tests.e2e.waiting import until
from tests.ports import reserve_port
from tests.subjects import make_classifier

TOKEN = "a-token-of-the-tests"
ROOT = Path(__file__).parents[3]
SUBJECT = Subject.of(make_classifier(TableScorer()))
TEXTS = [f"text {number}" for number in range(5 * BATCH_ROWS + 40)]


class Program:
    """`python -m worker.answering` on a port of its own."""

    def __init__(self) -> None:
        self.port = reserve_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        settings = {
            "LENS_ANSWERS_TOKEN": TOKEN,
            "LENS_ALLOWED_MODELS": '{"table": "testing:tests.subjects:make_slow_table"}',
            "LENS_ALLOW_TESTING_MODELS": "true",
            "LENS_DEFAULT_MODEL": "table",
            "LENS_DEVICE": "cpu",
        }
        command = [sys.executable, "-m", "worker.answering", "127.0.0.1", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, env=os.environ | settings)

    def wait(self) -> None:
        until(lambda: self.process.poll() is not None or status_at(self.port, "/healthz") == 200, "the process answers")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def started() -> Iterator[Program]:
    made = Program()
    try:
        yield made
    finally:
        made.kill()


@pytest.fixture
def program(started: Program) -> Program:
    """The one of all tests, which a test may have started again."""
    started.wait()
    return started


@asynccontextmanager
async def client_of(*addresses: str, token: str = TOKEN) -> AsyncIterator[AnswersClient]:
    models = {"allowed_models": {"table": "table"}, "default_model": "table"}
    settings = Settings(_env_file=None, answers_addresses=addresses, answers_token=token, **models)
    client = AnswersClient(settings)
    yield client
    await client.close()


async def ask_until_answered(client: AnswersClient, texts: list[str], refused: list[str]) -> list[Prediction]:
    """As a client of the API repeats what was refused for now."""
    while True:
        try:
            return await client.ask(SUBJECT, texts)
        except Unavailable as error:
            refused.append(error.code)
            await asyncio.sleep(0.1)


def test_a_process_that_is_killed_on_the_way_and_started_again_answers_all(program: Program) -> None:
    refused = list[str]()

    async def ask_all() -> list[Prediction]:
        found = list[Prediction]()
        async with client_of(program.url) as client:
            for start in range(0, len(TEXTS), BATCH_ROWS):
                asked = asyncio.create_task(ask_until_answered(client, TEXTS[start : start + BATCH_ROWS], refused))
                if start == 2 * BATCH_ROWS:
                    await asyncio.sleep(0.1)  # a batch takes 0.3 s
                    program.kill()
                    program.start()
                found += await asked
        return found

    assert asyncio.run(ask_all()) == predict_rows(SUBJECT.classifier, [TextRow(text) for text in TEXTS], TableScorer())
    assert {"answers-away", "model-loading"} == set(refused)


def test_another_process_answers_for_one_that_is_away_and_bad_texts_cost_no_other(program: Program) -> None:
    async def ask() -> list[Prediction]:
        away = [f"http://127.0.0.1:{reserve_port()}" for _ in range(2)]
        async with client_of(away[0], program.url, away[1]) as client:
            return await ask_until_answered(client, ["one", " ", "x" * 20_001, "two"], [])

    found = asyncio.run(ask())
    good = predict_rows(SUBJECT.classifier, [TextRow("one"), TextRow("two")], TableScorer())
    assert [found[0], found[3]] == good
    assert [(one.error, one.code) for one in found[1:3]] == [
        ("the text is blank; write a text", "invalid-input"),
        ("the text is longer than 20,000 characters; shorten it", "invalid-input"),
    ]


def test_who_has_not_the_token_or_sends_something_else_is_refused(program: Program) -> None:
    subject = Subject.of(make_classifier(TableScorer(), "of this test"))

    async def ask_with_another_token() -> None:
        async with client_of(program.url, token="another-token-of-the-tests") as client:
            with pytest.raises(Unavailable, match="its log and that of the API say why"):
                await client.ask(subject, ["text"])

    asyncio.run(ask_with_another_token())
    path, right = f"{program.url}/subjects/{subject.digest}", {"Authorization": f"Bearer {TOKEN}"}
    assert httpx.put(path, content=subject.content).status_code == 401
    other = make_classifier(TableScorer(), "b").model_dump_json()
    assert httpx.put(path, content=other, headers=right).json()["code"] == "invalid-request"
    assert httpx.post(f"{path}/answers", json={"texts": ["text"]}, headers=right).json()["code"] == "not-found"
    assert httpx.put(path, content=subject.content, headers=right).status_code == 204
    for texts in ([], ["text"] * 257, [7], None):
        refused = httpx.post(f"{path}/answers", json={"texts": texts}, headers=right)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid-request")

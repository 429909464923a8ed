"""A prompt in production that finds examples for each input, and learns; a selection that answers while it runs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.e2e.stack import NEAREST, Stack

TEXT = "the parcel of my mother came late"
ADDED = {"text": "my parcel came too late", "label": "bad"}


@pytest.fixture
def mail(lens: Stack) -> str:
    """The path of a name whose prompt finds examples for each input."""
    lens.warm_worker()
    selection_id = lens.submit(options=NEAREST)
    lens.wait_until_done(selection_id)
    put = lens.client.put("/prompts/mail", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    assert put.status_code == 201, put.text
    return "/prompts/mail"


def render(client: httpx.Client, text: str = TEXT) -> dict[str, Any]:
    answer = client.post("/prompts/mail/render", json={"input": text})
    assert answer.status_code == 200, answer.text
    prompt: dict[str, Any] = answer.json()["prompts"][0]
    return prompt


def add(client: httpx.Client, version: int, text: str) -> httpx.Response:
    body = {"examples": [{**ADDED, "text": text}]}
    return client.post("/prompts/mail/examples", json=body, headers={"If-Match": f'"{version}"'})


@pytest.mark.usefixtures("second_api")
def test_of_two_writers_at_two_processes_one_wins_and_both_processes_show_it(lens: Stack, mail: str, port: int) -> None:
    clients = (lens.client, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10))
    for version in range(1, 11):
        round_ = f"round {'i' * version} of the letters"
        texts = [f"{round_} by {writer}" for writer in ("ada", "ben")]
        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(add, clients, (version, version), texts))
        assert sorted(answer.status_code for answer in answers) == [200, 412]
        (won,) = (text for text, answer in zip(texts, answers, strict=True) if answer.status_code == 200)
        (shown,) = {render(client, round_)["prompt"] for client in clients}
        assert [text in shown for text in texts] == [text == won for text in texts]
    assert lens.client.get(mail).json()["version"] == 11
    clients[1].close()

"""…/export: the support examples of a selection or a name as files of other tools."""

import itertools
import json
from typing import get_args

import pytest
from starlette.testclient import TestClient

from lens_engine.config import FormKind
from lens_engine.exports import FORMATS, FormatName, export_support_examples
from tests.formed import take_form
from tests.integration.conftest import Selections
from tests.integration.samples import make_result, problem_of

EVALUATED = {"text", "json", "lm-eval", "python"}


def test_library_selection_and_name_give_the_same_bytes(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    body, headers = {"selection_id": selection_id}, {"If-None-Match": "*"}
    assert client.put("/prompts/triage", json=body, headers=headers).status_code == 201
    paths = (f"/selections/{selection_id}", "/prompts/triage")
    for path, format in itertools.product(paths, get_args(FormatName)):
        response = client.get(f"{path}/export", params={"format": format})
        assert response.content == export_support_examples(make_result(), format), format
        assert response.headers["content-type"] == FORMATS[format].media_type
        assert response.headers["content-disposition"].endswith(f'{FORMATS[format].suffix}"')
        assert response.headers["x-format-matches-evaluation"] == ("true" if format in EVALUATED else "null")
        known = client.get(
            f"{path}/export", params={"format": format}, headers={"If-None-Match": response.headers["etag"]}
        )
        assert (known.status_code, known.content) == (304, b"")


def test_use_picks_the_support_examples(client: TestClient, selections: Selections) -> None:
    path = f"/selections/{selections.succeeded()}/export"
    shown = [json.loads(client.get(path, params={"use": use}).content) for use in ("prompt", "probabilities")]
    assert [one["support_examples"]["use"] for one in shown] == ["prompt", "probabilities"]
    assert json.loads(client.get(path).content) == shown[0]


def test_unknown_format_and_unfinished_selection_are_refused(client: TestClient, selections: Selections) -> None:
    done, queued = selections.succeeded(), selections.queued()
    refusal = problem_of(client.get(f"/selections/{done}/export", params={"format": "yaml"}), 400, "bad-request")
    assert "'openai-chat'" in refusal["detail"]
    problem_of(client.get(f"/selections/{queued}/export"), 409, "not-finished")


@pytest.mark.parametrize("kind", ["fixed", "nearest", "fixed+nearest"])
def test_folder_has_the_prompt_and_other_formats_its_fixed_form(
    client: TestClient, selections: Selections, kind: FormKind
) -> None:
    result = make_result() if kind == "fixed" else take_form(make_result(), kind)
    selection_id = selections.succeeded(result)
    body, headers = {"selection_id": selection_id}, {"If-None-Match": "*"}
    assert client.put("/prompts/triage", json=body, headers=headers).status_code == 201
    for path in (f"/selections/{selection_id}/export", "/prompts/triage/export"):
        folder = client.get(path, params={"format": "folder"})
        assert folder.content == export_support_examples(result, "folder")
        assert folder.headers["content-type"] == "application/zip"
        assert folder.headers["content-disposition"] == 'attachment; filename="prompt.zip"'
        assert folder.headers["x-prompt-form"] == ("fixed" if kind == "fixed" else f"{kind} 2")
        text = client.get(path, params={"format": "text"})
        assert text.content == export_support_examples(make_result(), "text")
        accuracy = None if (test := result.answer.plain.test) is None else test.accuracy
        assert (text.headers["x-prompt-form"], json.loads(text.headers["x-prompt-accuracy"])) == ("fixed", accuracy)
        code = client.get(path, params={"format": "python"}).content
        assert code == export_support_examples(result, "python")

"""A client made from the OpenAPI document by a common generator can do what a client of our own can."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from lens_engine.classifier.classifier import Classifier
from tests.e2e.stack import EXAMPLES, Stack, make_submission
from tests.e2e.waiting import until
from tests.unit.lens_engine.files.dataset_uploads import write_csv

PACKAGE = "generated_lens_client"
FORMAT = f"{sys.executable} -m ruff format --isolated --quiet ."
"""What the generator runs by itself where `ruff` is on the path: as written, the code has warnings."""

Module = Callable[[str], Any]


@pytest.fixture
def module(lens: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """Imports a module of the generated client by its name."""
    document = tmp_path / "openapi.json"
    document.write_text(lens.client.get("/openapi.json").text, "utf-8")
    options = ConfigFile(package_name_override=PACKAGE, post_hooks=[FORMAT])
    config = Config.from_sources(
        options, MetaType.NONE, document, "utf-8", overwrite=False, output_path=tmp_path / PACKAGE
    )
    assert [f"{error.header}: {error.detail}" for error in generate(config=config)] == []
    monkeypatch.syspath_prepend(tmp_path)

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.{name}" if name else PACKAGE)

    yield load
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
def generated(module: Module, lens: Stack) -> Iterator[Any]:
    made = module("").AuthenticatedClient(str(lens.client.base_url), token="any", raise_on_unexpected_status=True)
    with made as client:
        yield client


def form_of(models: Any, types: Any, submission: dict[str, Any]) -> Any:
    rows = [(row["text"], row["label"]) for row in EXAMPLES]
    return models.SubmissionForm(
        dataset=types.File(BytesIO(write_csv(rows)), "rows.csv", "text/csv"),
        spec=models.SelectionSpec.from_dict(submission["spec"]),
    )


@pytest.mark.parametrize("is_form", [False, True], ids=["json", "form"])
def test_client_goes_the_whole_way(lens: Stack, module: Module, generated: Any, is_form: bool, tmp_path: Path) -> None:
    models, submission = module("models"), make_submission()
    body = form_of(models, module("types"), submission) if is_form else models.SubmissionBody.from_dict(submission)
    selection = module("api.selections.submit_selection").sync(client=generated, body=body, idempotency_key="one")
    assert isinstance(selection, models.SelectionOut)
    assert (selection.status, selection.spec.template) == ("queued", "{text} It was {label}.")

    lens.warm_worker()
    poll = module("api.selections.get_selection")
    ends = {"succeeded", "failed", "cancelled"}
    until(lambda: poll.sync(selection.id, client=generated).status in ends, "the selection ends")
    assert poll.sync(selection.id, client=generated).status == models.Status.SUCCEEDED

    result = module("api.selections.get_result").sync(selection.id, client=generated)
    assert isinstance(result, models.ResultOut)
    examples = result.support_examples[0].examples
    assert [example.label for example in examples] == [EXAMPLES[example.row]["label"] for example in examples]
    assert result.to_dict() == lens.client.get(f"/selections/{selection.id}/result").json()

    classifier = module("api.selections.get_classifier").sync(selection.id, client=generated)
    assert isinstance(classifier, models.Classifier)
    saved = tmp_path / "classifier.json"
    saved.write_text(json.dumps(classifier.to_dict()), "utf-8")
    assert Classifier.load(saved) == Classifier.model_validate(
        lens.client.get(f"/selections/{selection.id}/classifier").json()
    )

"""The version of the stored spec follows the options."""

import hashlib
import json
from typing import Any

import pytest

from app.lifecycle.spec import SPEC_VERSION, StoredSpec
from lens_engine.config import SelectionConfig
from lens_engine.task.combinations import Wordings, combine_wordings, read_templates
from lens_engine.task.template import Task
from lens_engine.task.verbalizer import Verbalizer

PINNED = (1, "b7c7d472af6aa9ae")
"""SPEC_VERSION, and the digest of the options that a spec of this version may hold."""


def test_options_change_only_with_the_version_of_the_spec() -> None:
    schema = json.dumps(_without_prose(SelectionConfig.model_json_schema()), sort_keys=True)
    found = (SPEC_VERSION, hashlib.sha256(schema.encode()).hexdigest()[:16])
    assert found == PINNED, (
        "The options of a selection have changed. A worker of the release before may refuse or misread such a spec. "
        "Raise SPEC_VERSION in app/lifecycle/spec.py and let `StoredSpec` give older specs the meaning that they had. "
        "If SPEC_VERSION was raised since the last release already, write only the new digest into PINNED."
    )


def test_stored_spec_gives_the_task_again() -> None:
    task = Task("{text}: {label}", {"b": "B", "a": "A"}, " ## ", instruction="Which?")
    spec = StoredSpec.of("m", Wordings(task), "quick", SelectionConfig())
    stored = json.loads(spec.model_dump_json())
    assert (stored["template"], stored["instruction"]) == ("{text}: {label}", "Which?")
    assert StoredSpec.read(stored, SPEC_VERSION).wordings == (task, ())
    del stored["instruction"]
    assert StoredSpec.read(stored, SPEC_VERSION).wordings.task.instruction == ""


@pytest.mark.parametrize("instructions", [("Which?", ""), ("",), ("Which?",)])
def test_stored_spec_gives_every_wording_again(instructions: tuple[str, ...]) -> None:
    templates = read_templates(["{text}: {label}", "{text} {label}"])
    given = combine_wordings(Verbalizer({"b": "B", "a": "A"}), templates, instructions, " ## ")
    stored = json.loads(StoredSpec.of("m", given, "quick", SelectionConfig()).model_dump_json())
    assert stored["template"] == ["{text}: {label}", "{text} {label}"]
    assert stored["instruction"] == (list(instructions) if len(instructions) > 1 else instructions[0])
    assert StoredSpec.read(stored, SPEC_VERSION).wordings == given


def _without_prose(node: Any) -> Any:
    """The schema without titles and descriptions, which no worker reads."""
    if isinstance(node, list):
        return [_without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        name: _without_prose(item)
        for name, item in node.items()
        if not (name in {"title", "description"} and isinstance(item, str))
    }

"""The stored spec gives the task again."""

import json

import pytest

from app.lifecycle.spec import StoredSpec
from lens_engine.config import SelectionConfig
from lens_engine.prompt.request import Wordings, combine_wordings, read_templates
from lens_engine.prompt.template import Task
from lens_engine.prompt.verbalizer import Verbalizer


def test_stored_spec_gives_the_task_again() -> None:
    task = Task("{text}: {label}", {"b": "B", "a": "A"}, " ## ", instruction="Which?")
    spec = StoredSpec.of("m", Wordings(task), "quick", SelectionConfig())
    stored = json.loads(spec.model_dump_json())
    assert (stored["template"], stored["instruction"]) == ("{text}: {label}", "Which?")
    assert StoredSpec.read(stored) == spec
    assert spec.wordings == (task, ())


@pytest.mark.parametrize("instructions", [("Which?", ""), ("",), ("Which?",)])
def test_stored_spec_gives_every_wording_again(instructions: tuple[str, ...]) -> None:
    templates = read_templates(["{text}: {label}", "{text} {label}"])
    given = combine_wordings(Verbalizer({"b": "B", "a": "A"}), templates, instructions, " ## ")
    stored = json.loads(StoredSpec.of("m", given, "quick", SelectionConfig()).model_dump_json())
    assert stored["template"] == ["{text}: {label}", "{text} {label}"]
    assert stored["instruction"] == (list(instructions) if len(instructions) > 1 else instructions[0])
    assert StoredSpec.read(stored).wordings == given

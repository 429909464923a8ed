import json

import pytest

from app.lifecycle.spec import StoredSpec
from lens_engine.config import SelectionConfig
from lens_engine.prompt.request import combine_wordings, read_templates
from lens_engine.prompt.verbalizer import Verbalizer


@pytest.mark.parametrize("template", ["{text}: {label}", ["{text}: {label}", "{text} {label}"]])
@pytest.mark.parametrize("instructions", [("Which?", ""), ("",), ("Which?",)])
def test_stored_spec_gives_every_wording_again(template: str | list[str], instructions: tuple[str, ...]) -> None:
    given = combine_wordings(Verbalizer({"b": "B", "a": "A"}), read_templates(template), instructions, " ## ")
    spec = StoredSpec.of("m", given, "quick", SelectionConfig())
    stored = json.loads(spec.model_dump_json())
    assert stored["template"] == template
    assert stored["instruction"] == (list(instructions) if len(instructions) > 1 else instructions[0])
    assert StoredSpec.read(stored) == spec
    assert StoredSpec.read(stored).wordings == given

"""Specs as they are stored."""

from typing import Any

import pytest

from app.lifecycle.spec import StoredSpec
from lens_engine.presets import resolve_config
from lens_engine.task.combinations import Wordings
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer


@pytest.mark.parametrize("preset", ["quick", "standard", "paper"])
def test_new_spec_is_stored_as_it_was_resolved(preset: Any) -> None:
    task = Task(Template("{text} {label}"), Verbalizer({"b": "B", "a": "A"}))
    spec = StoredSpec.of("m", Wordings(task), preset, resolve_config(preset))
    assert StoredSpec.model_validate(spec.model_dump(mode="json")) == spec

"""Wire types: what a request may say, and what an old result still says."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.intake.schemas import SelectionSpec
from app.lifecycle.spec import StoredSpec
from app.selections.schemas import RenderBody, ResultOut
from lens_engine.presets import resolve_config
from lens_engine.task.template import Task, Template, Verbalizer
from tests.integration.samples import make_result


def test_recommended_prompts_are_rendered_by_default() -> None:
    assert RenderBody(input="a").prompts == "recommended"


@pytest.mark.parametrize("prompts", ["first", "", "All", None, 1, ["all"]])
def test_unknown_choice_of_prompts_is_refused_by_name(prompts: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        RenderBody.model_validate({"input": "a", "prompts": prompts})
    assert [error["loc"] for error in refused.value.errors()] == [("prompts",)]


@pytest.mark.parametrize("has_classifier", [True, False])
def test_result_is_shown_whole(has_classifier: bool) -> None:
    result = make_result(has_classifier=has_classifier).model_dump(mode="json")
    shown = ResultOut.model_validate({**result, "selection_id": "sel_1"})
    assert shown.model_dump(mode="json") == {**result, "selection_id": "sel_1"}


@pytest.mark.parametrize("preset", ["quick", "standard", "paper"])
def test_new_spec_is_stored_as_it_was_resolved(preset: Any) -> None:
    task = Task(Template("{text} {label}"), Verbalizer({"b": "B", "a": "A"}))
    spec = StoredSpec.of("m", task, preset, resolve_config(preset))
    assert StoredSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_list_of_labels_is_a_verbalizer() -> None:
    assert SelectionSpec(verbalizer=["credit_card", "other"]).verbalizer == {  # type: ignore[arg-type]
        "credit_card": "credit card",
        "other": "other",
    }


@pytest.mark.parametrize(("labels", "location"), [(["a", 1], ()), (["a", "a"], ()), (["a", ""], ("", "[key]"))])
def test_bad_list_of_labels_is_refused_by_name(labels: Any, location: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as refused:
        SelectionSpec.model_validate({"verbalizer": labels})
    assert [error["loc"] for error in refused.value.errors()] == [("verbalizer", *location)]


def test_schema_of_a_verbalizer_allows_mapping_list_and_null() -> None:
    schema = SelectionSpec.model_json_schema()["properties"]["verbalizer"]
    assert [kind["type"] for kind in schema["anyOf"]] == ["object", "array", "null"]

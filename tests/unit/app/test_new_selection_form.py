from typing import Any

import pytest
from starlette.datastructures import FormData

from app.errors import Unprocessable
from app.lifecycle.spec import StoredSpec
from app.pages.fields import build_submission, list_fields
from lens_engine.presets import resolve_config
from lens_engine.prompt.request import combine_wordings
from lens_engine.prompt.verbalizer import Verbalizer


def build(*fields: tuple[str, str]) -> dict[str, Any]:
    return build_submission(FormData([("dataset_id", "ds_1"), *fields]))


def test_empty_field_means_the_default() -> None:
    assert build() == {"spec": {"options": {}}, "dataset_id": "ds_1"}
    empty = [
        (name, "")
        for name in ("template", "instruction", "model", "preset", "name", "seed", "use", "options", "test_dataset_id")
    ]
    assert build(*empty) == build()


def test_fields_are_parts_of_the_spec() -> None:
    texts, others = (
        ("{text}\r\nIt was {label}.", "Which?\r\nSay."),
        {"model": "small", "preset": "quick", "name": "films"},
    )
    body = build(*zip(("template", "instruction"), texts, strict=True), *others.items(), ("test_dataset_id", "ds_2"))
    spec = {"template": "{text}\nIt was {label}.", "instruction": "Which?\nSay.", **others}
    assert body == {"spec": {**spec, "options": {}}, "dataset_id": "ds_1", "test_dataset_id": "ds_2"}


def test_each_label_has_the_word_beside_it() -> None:
    body = build(("label", "good"), ("word", " great"), ("label", "42"), ("word", "7"))
    assert body["spec"]["verbalizer"] == {"good": " great", "42": "7"}


def test_options_are_nested_by_their_paths() -> None:
    body = build(
        ("seed", "7"),
        ("use", "probabilities"),
        ("budget.max_seconds", "60"),
        ("labels.rare", "drop"),
        ("options", '{"seed": 7, "budget": {"max_pairs": 100}}'),
    )
    assert body["spec"]["options"] == {
        "seed": 7,
        "use": "probabilities",
        "labels": {"rare": "drop"},
        "budget": {"max_seconds": 60, "max_pairs": 100},
    }


@pytest.mark.parametrize("further", ['{"budget": {"max_seconds": 170.0}}', '{"budget.max_seconds": 170.0}'])
def test_field_that_contradicts_the_further_options_is_refused(further: str) -> None:
    with pytest.raises(Unprocessable, match=r"400 for budget[.]max_seconds, and the further options say 170"):
        build(("budget.max_seconds", "400"), ("options", further))


def test_form_that_is_filled_in_again_means_the_same_options() -> None:
    options = {"seed": 3, "budget": {"max_seconds": 170.0, "max_pairs": 900}, "num_demonstrations": 4}
    config = resolve_config("quick", {**options, "use": "probabilities"})
    wordings = combine_wordings(Verbalizer({"a": "A", "b": "B"}), ["{text} {label}"], [""], "")
    spec = StoredSpec.of("small", wordings, "quick", config)
    fields = list_fields(spec)
    assert fields["named"] == {"seed": 3, "num_demonstrations": 4, "budget.max_seconds": 170.0}
    named = [(path, str(value)) for path, value in fields["named"].items()]
    sent = build(*named, ("options", fields["options"]), ("use", fields["use"]), ("preset", fields["preset"]))["spec"]
    assert resolve_config(sent["preset"], sent["options"]) == config


@pytest.mark.parametrize("text", ['{"seed": ', "[1]", "7", "seed=7"])
def test_options_that_are_no_object_are_refused(text: str) -> None:
    with pytest.raises(Unprocessable, match="further options"):
        build(("options", text))

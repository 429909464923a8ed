"""Specs that cannot be used are refused with code, place and advice, of a form and of JSON alike."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError
from app.selections.bodies import FormBody, JsonBody
from app.selections.submission import NewSelection, check_selection
from app.settings import Settings
from app.store.services import Services
from tests.integration.samples import SMALL_OPTIONS, make_csv, make_rows, make_spec

SERVICES = Services(Settings(_env_file=None), None, None)  # type: ignore[arg-type]
MORE_WORDS = {"positive": "great", "negative": "terrible", "a/b": "so so"}
PLAIN = "{text} {label}"
WORDS = {"positive": "great", "negative": "terrible"}

# What, the change of the spec, the code, the pointers, a part of the detail. A pointer `#3` is to row 3 of the rows.
BAD_SPECS: list[tuple[str, dict[str, Any], str, list[str], str]] = [
    ("template of no type", {"template": 3}, "invalid-request", ["/spec/template"], "`template` must be a string"),
    ("long template", {"template": "x" * 20_001}, "invalid-request", ["/spec/template"], ""),
    ("no template", {"template": []}, "invalid-request", ["/spec/template"], "`template` is empty"),
    ("template of a list", {"template": [PLAIN, 3]}, "invalid-request", ["/spec/template/1"], "`template[1]` must be"),
    ("many templates", {"template": [PLAIN] * 17}, "invalid-request", ["/spec/template"], "more than 16 items"),
    ("same template", {"template": [PLAIN, PLAIN]}, "invalid-template", ["/spec/template/1"], "is given twice"),
    ("no list of instructions", {"instruction": None}, "invalid-request", ["/spec/instruction"], "must be a list"),
    (
        "faults of two lists",
        {"template": [PLAIN, "{text}", "{label}"], "instruction": ["", " "]},
        "invalid-template",
        ["/spec/template/1", "/spec/template/2", "/spec/instruction/1"],
        "template 2 of 3: the template has no {label} slot",
    ),
    (
        "more wordings than are tried",
        {"template": [f"{number} {PLAIN}" for number in range(6)], "instruction": ["", "A", "B"]},
        "invalid-template",
        ["/spec/template"],
        "are 18 wordings, and a run chooses among at most 16",
    ),
    (
        "label to escape",
        {"verbalizer": {"a.b/c": " ", "b": "x"}},
        "invalid-verbalizer",
        ["/spec/verbalizer/a.b~1c"],
        "",
    ),
    ("word of no type", {"verbalizer": {**WORDS, "negative": 1}}, "invalid-request", ["/spec/verbalizer/negative"], ""),
    ("label twice", {"verbalizer": ["a", "b", "a"]}, "invalid-request", ["/spec/verbalizer"], "has a label twice"),
    ("no words", {"verbalizer": 3}, "invalid-request", ["/spec/verbalizer"], "an object of labels and label words"),
    (
        "labels that do not match",
        {"verbalizer": {"good": "great", "bad": "terrible"}},
        "invalid-dataset",
        ["#0/label", "#3/label", "/spec/verbalizer/good", "/spec/verbalizer/bad"],
        "",
    ),
    ("label too many", {"verbalizer": MORE_WORDS, "options": {}}, "invalid-verbalizer", ["/spec/verbalizer/a~1b"], ""),
    ("unknown preset", {"preset": "fast"}, "invalid-request", ["/spec/preset"], "'quick', 'standard' or 'paper'"),
    ("unknown field", {"seperator": ""}, "invalid-request", ["/spec/seperator"], "did you mean `separator`?"),
    ("option as a field", {"seed": 1}, "invalid-request", ["/spec/seed"], "did you mean `options.seed`?"),
    ("owner", {"owner_id": "alice"}, "invalid-request", ["/spec/owner_id"], ""),
    (
        "budget for less than a first step",
        {"options": {**SMALL_OPTIONS, "budget": {"max_pairs": 5}}},
        "invalid-options",
        ["/spec/options/budget/max_pairs"],
        "one prompt on the first judging rows with the test rows (if any) takes",
    ),
    (
        "wrong options",
        {"options": {"beam_width": 3, "search": {"beam_widht": 3, "iterations": -1}}},
        "invalid-options",
        ["/spec/options/search/iterations", "/spec/options/search/beam_widht", "/spec/options/beam_width"],
        "search.iterations: input should be greater than or equal to 0; it is -1",
    ),
    (
        "folder of the operator's machine",
        {"options": {**SMALL_OPTIONS, "classifier": {"embeddings": "/etc"}}},
        "invalid-options",
        ["/spec/options/classifier/embeddings"],
        "classifier.embeddings must be auto or null here",
    ),
    (
        "faults of every kind",
        {"template": "{text}", "verbalizer": {"a": "x"}, "instruction": "\t", "options": {"seed": -1}},
        "invalid-template",
        ["/spec/template", "/spec/verbalizer", "/spec/instruction", "/spec/options/seed"],
        "no {label} slot",
    ),
    ("hosted model", {"model": "gpt-4o"}, "unknown-model", ["/spec/model"], "choose one of smollm2-135m-instruct"),
    ("testing model", {"model": "testing:os:system"}, "unknown-model", ["/spec/model"], ""),
]


@pytest.mark.parametrize(
    ("changes", "code", "pointers", "said"), [case[1:] for case in BAD_SPECS], ids=[case[0] for case in BAD_SPECS]
)
def test_bad_spec_is_refused_with_its_place(
    tmp_path: Path, changes: dict[str, Any], code: str, pointers: list[str], said: str
) -> None:
    spec, file = make_spec(**changes), tmp_path / "data.csv"
    file.write_bytes(make_csv())
    form = FormBody(json.dumps(spec).encode(), {"dataset": file})
    for body, rows in ((form, "/dataset/rows/"), (JsonBody({"spec": spec, "examples": make_rows()}), "/examples/")):
        with pytest.raises(AppError) as refused:
            check_selection(SERVICES, "alice", body)
        assert refused.value.code == code
        assert [one["pointer"] for one in refused.value.errors] == [one.replace("#", rows) for one in pointers]
        assert said in refused.value.detail


SERVED = {"kind": "openai-chat", "url": "http://127.0.0.1:9/v1", "model": "m"}
LIMITED = Settings(
    _env_file=None,
    endpoints={"free": SERVED, "paid": SERVED | {"prices": {"input": 1.0, "output": 1.0}}},
    max_seconds=3600,
    max_pairs=50_000,
    max_cost_usd=2.5,
)


def check_budget(model: str | None, **budget: float) -> NewSelection:
    spec = make_spec(model=model, options={**SMALL_OPTIONS, "budget": budget})
    services = Services(LIMITED, None, None)  # type: ignore[arg-type]
    return check_selection(services, "alice", JsonBody({"spec": spec, "examples": make_rows()}))


@pytest.mark.parametrize(
    ("model", "budget", "said"),
    [
        (None, {"max_seconds": 3600.5}, "at most 3,600"),
        (None, {"max_pairs": 50_001}, "at most 50,000"),
        ("paid", {"max_cost": 3.0}, "at most 2.5 USD"),
        ("free", {"max_cost": 1.0}, "the endpoint has no prices"),
        (None, {"max_cost": 1.0}, "nothing is paid; leave it out"),
    ],
)
def test_budget_that_the_service_does_not_allow_is_refused(model: str, budget: dict[str, float], said: str) -> None:
    with pytest.raises(AppError, match=re.escape(said)) as refused:
        check_budget(model, **budget)
    assert refused.value.code == "invalid-options"
    assert [one["pointer"] for one in refused.value.errors] == [f"/spec/options/budget/{name}" for name in budget]


def test_budget_without_limits_gets_those_of_the_service() -> None:
    for model, cost in (("paid", 2.5), ("free", None)):
        found = check_budget(model, max_pairs=1000)
        assert found.spec["config"]["budget"] == {"max_pairs": 1000, "max_seconds": 3600.0, "max_cost": cost}
        said = [one for one in found.warnings if "budget" in one]
        assert said[0].startswith("spec: the budget max_seconds was set to 3,600 seconds")
        assert len(said) == (1 if cost is None else 2)


def test_budget_at_the_limits_is_taken_without_a_word() -> None:
    found = check_budget("paid", max_seconds=3600, max_pairs=50_000, max_cost=2.5)
    assert [one for one in found.warnings if "budget" in one] == []

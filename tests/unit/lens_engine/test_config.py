import re
from typing import Any

import pytest
from pydantic import ValidationError

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.metering.prices import plan_search
from lens_engine.presets import PRESETS, resolve_config


@pytest.mark.parametrize("name", ["quick", "standard", "paper"])
def test_preset_without_options_is_itself(name: Any) -> None:
    assert resolve_config(name) == PRESETS[name]
    assert resolve_config(name, {}) == PRESETS[name]


def test_paper_preset_holds_the_papers_settings() -> None:
    paper = PRESETS["paper"]

    assert (paper.filtering.rho, paper.filtering.initial_score_size, paper.filtering.keep) == (2.0, 14, 500)
    assert (paper.search.beam_width, paper.search.iterations, paper.search.validation) == (8, 10, 100)
    assert paper.search.children == paper.search.beam_width
    assert paper.search.num_substitutions == 6
    assert (paper.num_demonstrations, paper.search.is_apart, paper.rows.test) == (8, True, None)
    assert (paper.search.starts_narrow, paper.search.halvings) == (True, 0)


@pytest.mark.parametrize(
    ("name", "permutations", "pairs"),
    [
        ("quick", 80 + 3 * 16, (80 * 7 + 40 * 6 + 20 * 12 + 10 * 25 + 5 * 50) + 3 * (16 * 7 + 8 * 6 + 4 * 87)),
        ("standard", 1024 + 10 * 64, (16 + 10) * (64 * 13 + 32 * 12 + 16 * 25 + 8 * 50)),
        ("paper", 8 + 10 * 64, (8 + 10 * 64) * 100),
    ],
)
def test_presets_spend_what_their_halvings_leave(name: Any, permutations: int, pairs: int) -> None:
    search = PRESETS[name].search

    assert search.num_first_permutations + search.iterations * search.num_children == permutations
    assert sum(rung.pairs for rung in plan_search(search, 100)) == pairs


def test_options_are_laid_over_a_preset_group_by_group() -> None:
    config = resolve_config("quick", {"seed": 7, "search": {"beam_width": 2}, "filtering": {"candidates": None}})

    assert (config.seed, config.search.beam_width, config.search.iterations) == (7, 2, 3)
    assert (config.filtering.candidates, config.filtering.keep) == (None, 64)
    assert PRESETS["quick"].search.beam_width == 4


def test_unknown_preset_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidConfig, match="'fast' is not one of quick, standard, paper") as refusal:
        resolve_config("fast")  # type: ignore[arg-type]
    assert refusal.value.field == "preset"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"search": {"diversity_weight": -1}}, "options.search.diversity_weight"),
        ({"search": {"diversity_weight": float("nan")}}, "options.search.diversity_weight"),
        ({"search": 5}, "options.search"),
        ({"num_demonstrations": 257}, "options.num_demonstrations"),
        ({"seed": 2**63}, "options.seed"),
        ({"seed": "7"}, "options.seed"),
        ({"balanced": 1}, "options.balanced"),
        ({"filtering": {"rho": "2"}}, "options.filtering.rho"),
        ({"filtering": {"rho": 1.0}}, "options.filtering.rho"),
        ({"budget": {"max_seconds": 1e12}}, "options.budget.max_seconds"),
    ],
)
def test_bad_option_is_refused_with_its_path(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        resolve_config("standard", options)
    assert refusal.value.field == field
    assert field.removeprefix("options.") in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_width": 3}, "there is no option 'beam_width'; did you mean search.beam_width?"),
        ({"search": {"beam_widht": 3}}, "there is no option 'search.beam_widht'; did you mean search.beam_width?"),
        ({"serach": {"beam_width": 3}}, "there is no option 'serach.beam_width'; did you mean search.beam_width?"),
        ({"too_long": "reject"}, "there is no option 'too_long'; docs/reference.md lists the options"),
        ({"search": {"beam_width": 0}}, "search.beam_width: input should be greater than or equal to 1; it is 0"),
        ({"search": {"beam_width": None}}, "search.beam_width: input should be a valid integer; it is null"),
        ({"balanced": "maybe"}, "balanced: input should be a valid boolean; it is 'maybe'"),
        ({"use": "promt"}, "use: input should be 'prompt' or 'probabilities'; it is 'promt'"),
        ({"search": 5}, "search is a group of options, such as search.validation; it is 5"),
        ({"x" * 500: 1}, f"there is no option '{'x' * 59}…; docs/reference.md lists the options"),
    ],
)
def test_refusal_of_an_option_says_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        resolve_config("standard", options)
    assert str(refusal.value) == message


def test_every_wrong_option_is_in_one_refusal() -> None:
    with pytest.raises(InvalidConfig) as refusal:
        resolve_config("quick", {"beam_width": 3, "search": {"iterations": -1}, "other": {"a": 1, "b": 2}})

    problems = {problem.field: problem.detail for problem in refusal.value.problems}
    names = ["search.iterations", "beam_width", "other.a", "other.b"]
    assert list(problems) == [f"options.{name}" for name in names]
    assert refusal.value.field == "options.search.iterations"
    assert str(refusal.value).startswith("4 faults; the first: search.iterations: input should be greater")
    assert refusal.value.__notes__ == list(problems.values())[1:]


def test_refusal_of_many_options_is_short() -> None:
    with pytest.raises(InvalidConfig) as refusal:
        resolve_config("quick", {f"option {number}": 1 for number in range(1000)})
    assert len(refusal.value.problems) == 10


def test_configuration_survives_json_and_cannot_be_changed() -> None:
    config = resolve_config("quick", {"budget": {"max_seconds": 1.5}})

    assert SelectionConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 3  # type: ignore[misc]


def test_dotted_names_are_options_of_their_groups() -> None:
    nested = resolve_config("quick", {"labels": {"join_spellings": False, "rare": "drop"}, "search": {"beam_width": 3}})
    dotted = {"labels.join_spellings": False, "search.beam_width": 3, "labels": {"rare": "drop"}}
    assert resolve_config("quick", dotted) == nested


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"search": 3, "search.beam_width": 3}, "search"),
        ({"search.beam_width": 3, "search": 3}, "search"),
        ({"search.beam_width": 3, "search": {"beam_width": 4}}, "search.beam_width"),
    ],
)
def test_option_that_is_given_twice_is_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"option {re.escape(name)} is given twice"):
        resolve_config("quick", options)


def test_odd_names_of_options_are_refused_in_words() -> None:
    for options in ({1: 2}, {"a." * 5000 + "b": 1}, {"search": {1: 2}}, {"search.a.b": 1}):
        with pytest.raises(InvalidConfig):
            resolve_config("quick", options)  # type: ignore[arg-type]
